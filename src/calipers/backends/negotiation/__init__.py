"""Handles what a judge's server refuses (parameters are left out) or ignores (structured output is probed)."""
