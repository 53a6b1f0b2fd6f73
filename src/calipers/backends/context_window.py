"""How long questions are, and what a judge's answers and refusals teach about its context window.

This only collects: which groups of a run make use of it is recorded with the run (``Settings.windows``), so that it can
be replayed. Not responsible for fitting questions into a window (``render``), nor for recording (``ledger``).
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
"""Another density shortens long groups differently, and their recorded answers are then of no use."""


_IMAGE_BYTES = 4000
"""What an image counts for: providers charge some hundred to some thousand tokens, whatever its file's size."""


def question_bytes(request: JudgeRequest) -> int:
    """The UTF-8 bytes of a question: unlike characters, about as many to a token in every script."""
    text, images = text_bytes_and_images(request)
    return text + _IMAGE_BYTES * images


class WindowEstimate:
    """Starts from what the ledger knows (``learned`` as an earlier run wrote it); grows while questions are asked."""

    def __init__(self, known: Mapping[str, Any] | None = None) -> None:
        self.take_up(known or {})

    def take_up(self, known: Mapping[str, Any]) -> None:
        """Begin with what the ledger knows, and nothing else."""
        window = known.get("window")
        told: Mapping[str, Any] = window if isinstance(window, dict) else {}
        self.tokens: int | None = told.get("tokens")
        self._known: float | None = told.get("bytes_per_token")
        self._told: Window | None = None
        self._text = self._counted = self._answers = 0

    @property
    def bytes_per_token(self) -> float:
        """UTF-8 bytes of question to a token, as known now."""
        return self._density() or BYTES_PER_TOKEN

    def answered(self, request: JudgeRequest, completion: Completion) -> None:
        """Take in what the server counted; questions with images say nothing about text."""
        self._answers += 1
        if self._answers > _ALL_OF and self._answers % _THEN_EVERY:
            return  # counting bytes costs, and a density that many answers agree on is known
        if completion.usage.input_tokens > 0:
            text, images = text_bytes_and_images(request)
            if not images:
                self._text += text
                self._counted += completion.usage.input_tokens

    def refused(self, window: Window) -> None:
        """Take in the window's size that a refusal told; of several servers the smallest one holds for all."""
        self.tokens = window.tokens if self.tokens is None else min(self.tokens, window.tokens)
        self._told = Window(self.tokens, self._density() or window.bytes_per_token)

    @property
    def told(self) -> Window | None:
        """The window by the refusals of this run; None where there was none."""
        return self._told

    def learned(self) -> Mapping[str, Any]:
        """What is worth keeping, as plain JSON: ``{}`` or ``{"window": {"tokens", "bytes_per_token"}}``."""
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
