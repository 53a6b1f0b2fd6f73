"""Adapters for training engines, one module each: calipers' rewards in the form that the engine accepts.

Each adapter also knows how its engine must be given a missing reward.
"""
