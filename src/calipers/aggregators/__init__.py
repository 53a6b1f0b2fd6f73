"""Judgments to scores with standard errors: one estimator a file."""
