"""Judges one can put a question to, and wrappers around them."""

from calipers.backends.providers.known import Provider

__all__ = ["Provider"]
