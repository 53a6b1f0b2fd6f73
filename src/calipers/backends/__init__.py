"""Backends: how judges are reached, and the wrappers around their calls."""

from calipers.backends.providers.known import Provider

__all__ = ["Provider"]
