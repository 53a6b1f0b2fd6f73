"""Measures requests in bytes, and remembers a judge's context window once the server has stated it in a refusal.

A run records which groups use which window (``Settings.windows``), so that it can be replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from calipers.render import BYTES_PER_TOKEN, text_bytes_and_images
from calipers.types import JudgeRequest, Window

_IMAGE_BYTES: Final = 4000
"""The bytes that an image counts as: providers charge hundreds to thousands of tokens, whatever the file's size."""


def question_bytes(request: JudgeRequest) -> int:
    """Return the UTF-8 bytes of a request to a judge's server. Unlike characters, about as many bytes make a token in
    every script.
    """
    text, images = text_bytes_and_images(request)
    return text + _IMAGE_BYTES * images


class KnownWindow:
    """A judge's context window in ``tokens``, if known, and its ``bytes_per_token``."""

    def __init__(self) -> None:
        self.start_from({})

    def start_from(self, known: Mapping[str, Any]) -> None:
        """Start with the server's context window that an earlier run's ``learned`` returned, and forget all else."""
        window = known.get("window")
        earlier: Mapping[str, Any] = window if isinstance(window, dict) else {}
        self.tokens: int | None = earlier.get("tokens")
        self.bytes_per_token: float = earlier.get("bytes_per_token") or BYTES_PER_TOKEN
        self.reported: Window | None = None
        """The context window according to this run's refusals, or None without a refusal."""

    def learn_from_refusal(self, window: Window) -> None:
        """Learn the window's size from a server's refusal. If several servers name a size, the smallest counts."""
        self.tokens = window.tokens if self.tokens is None else min(self.tokens, window.tokens)
        self.bytes_per_token = min(self.bytes_per_token, window.bytes_per_token)
        self.reported = Window(self.tokens, self.bytes_per_token)

    def learned(self) -> Mapping[str, Any]:
        """Return what to store about the server's context window for later runs, as JSON: ``{}`` or ``{"window":
        {"tokens", "bytes_per_token"}}``.
        """
        if self.tokens is None:
            return {}
        return {"window": {"tokens": self.tokens, "bytes_per_token": self.bytes_per_token}}
