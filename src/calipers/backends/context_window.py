"""Measures requests in bytes, and learns a judge's context window from its answers and refusals.

This module only collects the sizes. A run records which groups use which window (``Settings.windows``), so that it can
be replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calipers.render import BYTES_PER_TOKEN, plausible_bytes_per_token, text_bytes_and_images
from calipers.types import Completion, JudgeRequest, Window

_ENOUGH_TOKENS = 1000
_PRUDENCE = 0.95
_ALL_OF, _THEN_EVERY = 64, 16
_WORTH_A_CHANGE = 0.15
"""Changes of bytes per token below this share are ignored, because a new value shortens long groups differently. Then
their recorded answers could not be reused.
"""


_IMAGE_BYTES = 4000
"""The bytes that an image counts as: providers charge hundreds to thousands of tokens, whatever the file's size."""


def question_bytes(request: JudgeRequest) -> int:
    """Return the UTF-8 bytes of a request to a judge's server. Unlike characters, about as many bytes make a token in
    every script.
    """
    text, images = text_bytes_and_images(request)
    return text + _IMAGE_BYTES * images


class WindowEstimate:
    """Estimates a judge's context window and its bytes per token, starting from what the ledger holds of earlier runs.

    ``known`` is what an earlier run's ``learned`` returned.
    """

    def __init__(self, known: Mapping[str, Any] | None = None) -> None:
        self.start_from(known or {})

    def start_from(self, known: Mapping[str, Any]) -> None:
        """Start the estimate of the server's context window again from what an earlier run learned, and forget
        everything else.
        """
        window = known.get("window")
        told: Mapping[str, Any] = window if isinstance(window, dict) else {}
        self.tokens: int | None = told.get("tokens")
        self._known: float | None = told.get("bytes_per_token")
        self._told: Window | None = None
        self._text = self._counted = self._answers = 0

    @property
    def bytes_per_token(self) -> float:
        """Return the UTF-8 bytes of a request per token, by the current estimate."""
        return self._density() or BYTES_PER_TOKEN

    def learn_from_answer(self, request: JudgeRequest, completion: Completion) -> None:
        """Learn the bytes per token from the server's token count. Requests with images are skipped, because images
        cost tokens without adding text.
        """
        self._answers += 1
        if self._answers > _ALL_OF and self._answers % _THEN_EVERY:
            return  # counting bytes takes time, and many answers already agree on the density
        if completion.usage.input_tokens > 0:
            text, images = text_bytes_and_images(request)
            if not images:
                self._text += text
                self._counted += completion.usage.input_tokens

    def learn_from_refusal(self, window: Window) -> None:
        """Learn the window's size from a server's refusal. If several servers name a size, the smallest counts."""
        self.tokens = window.tokens if self.tokens is None else min(self.tokens, window.tokens)
        self._told = Window(self.tokens, self._density() or window.bytes_per_token)

    @property
    def reported_window(self) -> Window | None:
        """Return the context window according to this run's refusals, or None without a refusal."""
        return self._told

    def learned(self) -> Mapping[str, Any]:
        """Return what to store about the server's context window for later runs, as JSON: ``{}`` or ``{"window":
        {"tokens", "bytes_per_token"}}``.
        """
        known = {"tokens": self.tokens, "bytes_per_token": self._density()}
        told = {key: value for key, value in known.items() if value is not None}
        return {"window": told} if told else {}

    def _density(self) -> float | None:
        if self._counted < _ENOUGH_TOKENS:
            return self._known
        found = plausible_bytes_per_token(int(10 * _PRUDENCE * self._text / self._counted) / 10)
        if self._known and abs(found / self._known - 1) < _WORTH_A_CHANGE:
            return self._known
        return found
