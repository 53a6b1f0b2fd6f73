"""Profiles: what a judge's recorded answers show of it in a few numbers, and a simulated judge with these numbers."""
