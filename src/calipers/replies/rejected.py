"""Defines Rejected, the exception that the readers of judges' replies raise, and the reasons that others look for."""

from __future__ import annotations

from typing import Final

WORDS_AROUND: Final = "words around the verdict"
"""The reason for a reply whose values count if the judge gives them again."""
CONTRADICTED: Final = "a verdict that its explanation contradicts"
TWO_VERDICTS: Final = "two verdicts that differ"
ERROR_BESIDE: Final = "an error beside the verdict"
UNENDED: Final = "the reasoning never ends"


class Rejected(Exception):  # noqa: N818 - not an error: the readers catch it, and callers never see it
    """Raised with the reason why nothing of a judge's reply is read.

    ``doubt``: the reply contradicts itself, or its verdict may be on another scale. ``truncated``: the reply ends too
    early.
    """

    def __init__(self, reason: str, *, doubt: bool = False, truncated: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.doubt = doubt
        self.truncated = truncated
