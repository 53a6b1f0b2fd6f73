"""Reads a judge's verdicts on criteria from its reply."""
