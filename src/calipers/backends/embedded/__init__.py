"""The embedded judge, for set-up, tests and first steps: no key, no network, no download. Not for training."""

from calipers.backends.embedded.judge import EMBEDDED_WARNING, Embedded

__all__ = ["EMBEDDED_WARNING", "Embedded"]
