"""Turns scores into rewards. Each transform has its own file."""
