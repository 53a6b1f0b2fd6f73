"""Turns judgments into scores with standard errors. Each estimator has its own file."""
