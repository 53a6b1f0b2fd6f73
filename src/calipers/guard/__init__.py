"""Defends judges against prompt injection: finds candidates that address a judge, and tests if the judge obeys."""
