"""Reads replies in the output formats of published judges."""
