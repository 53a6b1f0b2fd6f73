"""Reads a reply's scores, one for each candidate."""
