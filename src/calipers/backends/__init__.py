"""Backends: how judges are reached, and the wrappers around their calls."""

from calipers.backends.providers.known import Provider, use_env_file

__all__ = ["Provider", "use_env_file"]
