"""Defends judges against prompt injection: finds candidates that address the judge, and tests whether it obeys."""
