"""The documentation's site, made of the pages that a reader of the repository sees: ``python -m scripts.site``."""
