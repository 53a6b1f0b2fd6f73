"""Scores to rewards: one transform a file."""
