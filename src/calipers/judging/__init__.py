"""Judges a group: asks the judge, turns its answers into scores and the scores into rewards."""
