"""Reads a judge's scores from its reply, one for each candidate."""
