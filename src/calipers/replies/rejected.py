"""Defines Rejected, the exception that the readers of judges' replies raise if nothing of a reply can be read."""

from __future__ import annotations


class Rejected(Exception):  # noqa: N818 - not an error: the readers catch it, and callers never see it
    """Raised with the reason why nothing of a judge's reply is read.

    ``doubt``: the reply contradicts itself, takes its verdict back, or gives a verdict that may be somebody else's.
    ``truncated``: the reply ends too early. ``nowhere``: the place that the format defines for the value is empty.
    """

    def __init__(self, reason: str, *, doubt: bool = False, truncated: bool = False, nowhere: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.doubt = doubt
        self.truncated = truncated
        self.nowhere = nowhere
