"""Reads a reply's choice between candidates, or its ranking of them."""
