"""Deterministic checks of one trajectory; each gives a ``Verdict``. No judge, no network."""
