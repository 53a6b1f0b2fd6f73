"""The version, in a file of its own so that nothing else need be imported to know it."""

__version__ = "0.1.0"
