"""Judges one can put a question to, and wrappers around them."""
