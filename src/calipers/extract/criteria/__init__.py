"""Reads a reply's verdicts on criteria."""
