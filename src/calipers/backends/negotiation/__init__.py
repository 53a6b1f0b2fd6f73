"""Handles what a judge's server does not support: parameters that it refuses, and structured output that it ignores."""
