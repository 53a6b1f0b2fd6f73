"""The judge ``local:DIR``: a small model that ``calipers distill`` made, in this process, without a server."""

from calipers.backends.local.judge import Local

__all__ = ["Local"]
