"""Adapters for training engines, one module each: calipers' rewards in the form that the engine accepts.

Each adapter also knows what its engine must get in place of a missing reward.
"""
