"""Slips of a simulated judge: errors in how it writes its opinion down, in replies that are well-formed JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from calipers.errors import ConfigError
from calipers.testing.question import Question, require_finite, require_probability
from calipers.types import JudgeRequest


@dataclass(frozen=True, slots=True)
class Row:
    """A candidate's entry in a reply: ``value`` is the opinion in [0, 1], ``score`` the number that is written."""

    key: str
    value: float
    score: int | float
    explanation: str


_EXPLANATIONS = (
    "Does little of what was asked.",
    "Starts well but leaves most of the task undone.",
    "Gets about half of the way with visible gaps.",
    "Does nearly all that was asked with small flaws.",
    "Does all that was asked and checks it.",
)


def honest_rows(keys: Sequence[str], opinions: Sequence[float], top: int = 100) -> list[Row]:
    """Return a simulated judge's row per key without errors: clipped opinions, whole scores from 0 to ``top``."""
    clipped = [min(1.0, max(0.0, opinion)) for opinion in opinions]
    return [Row(key, value, round(top * value), _explanation(value)) for key, value in zip(keys, clipped, strict=True)]


def _explanation(value: float) -> str:
    return _EXPLANATIONS[min(int(value * len(_EXPLANATIONS)), len(_EXPLANATIONS) - 1)]


def write_scores(rows: Sequence[Row], request: JudgeRequest) -> str:
    """Return the simulated judge's listwise reply.

    It is ``{"explanations": {key: text}, "scores": {key: number}}`` in the order of ``rows``.

    A key that occurs in two rows is written twice. ``request`` is unused here; writers of other forms need it.
    """
    del request

    def keyed(values: Sequence[str | float]) -> str:
        pairs = zip(rows, values, strict=True)
        fields = [f"{_text(row.key)}: {_text(value)}" for row, value in pairs]
        return "{" + ", ".join(fields) + "}"

    explanations = keyed([row.explanation for row in rows])
    return f'{{"explanations": {explanations}, "scores": {keyed([row.score for row in rows])}}}'


def _text(value: str | float) -> str:
    return json.dumps(value, ensure_ascii=False)


class Slip(ABC):
    """Changes the rows of a simulated judge's reply.

    Subclass it for your own vice; draw randomness from ``question`` only.
    """

    __slots__ = ()

    @abstractmethod
    def slip(self, rows: Sequence[Row], question: Question) -> list[Row]:
        """Return the rows of the simulated judge's reply, in the order in which they are written."""


@dataclass(frozen=True, slots=True)
class OffScale(Slip):
    """Writes scores on another scale: low + value * (high - low) instead of 0 to 100.

    ``scale`` is (low, high), e.g. (0, 1), (0, 10), (1, 5), (0, 150) or (-100, 100). Scores are whole numbers, or have
    two decimals if high - low is at most 1. This happens to a ``share`` (0-1) of the replies
    (``per="reply"``) or of the rows (``per="row"``, for replies that mix two scales). No reader can detect scores that
    also lie on 0-100, such as whole numbers up to 10.
    """

    scale: tuple[float, float] = (0, 10)
    share: float = 1.0
    per: Literal["reply", "row"] = "reply"

    def __post_init__(self) -> None:
        low, high = self.scale
        require_finite("OffScale scale", low)
        require_finite("OffScale scale", high)
        require_probability("OffScale share", self.share)
        if not low < high:
            raise ConfigError(f"OffScale scale must rise, unlike {self.scale}")
        if self.per not in ("reply", "row"):
            raise ConfigError(f"OffScale per must be 'reply' or 'row', not {self.per!r}")

    def slip(self, rows: Sequence[Row], question: Question) -> list[Row]:
        generator = question.by_content()
        if self.per == "reply":
            off = [generator.random() < self.share] * len(rows)
        else:
            off = [generator.random() < self.share for _ in rows]
        return [
            replace(row, score=self._rescaled(row.value)) if slipped else row
            for row, slipped in zip(rows, off, strict=True)
        ]

    def _rescaled(self, value: float) -> int | float:
        low, high = self.scale
        score = low + value * (high - low)
        return round(score, 2) if high - low <= 1 else round(score)


@dataclass(frozen=True, slots=True)
class PermutedIds(Slip):
    """Gives every candidate's score and explanation to another candidate, in a ``share`` (0-1) of the replies.

    Drawn evenly from the permutations that are one single cycle, so that no candidate keeps its own score. The reply is
    well-formed: only its disagreement with other replies reveals the error. A reply about one candidate does not
    change.
    """

    share: float = 1.0

    def __post_init__(self) -> None:
        require_probability("PermutedIds share", self.share)

    def slip(self, rows: Sequence[Row], question: Question) -> list[Row]:
        generator = question.by_content()
        if generator.random() >= self.share:
            return list(rows)
        source = list(range(len(rows)))
        for last in range(len(rows) - 1, 0, -1):  # Sattolo's algorithm: every cycle of full length is equally likely
            swapped = generator.randrange(last)
            source[last], source[swapped] = source[swapped], source[last]
        return [replace(rows[at], key=row.key) for row, at in zip(rows, source, strict=True)]


@dataclass(frozen=True, slots=True)
class ReorderedRows(Slip):
    """Writes right scores under right ids in another order, in a ``share`` (0-1) of the replies.

    Only a reader that matches scores by position is misled. ``how``: "reversed", or "shuffled" evenly over all orders.
    """

    how: Literal["reversed", "shuffled"] = "reversed"
    share: float = 1.0

    def __post_init__(self) -> None:
        require_probability("ReorderedRows share", self.share)
        if self.how not in ("reversed", "shuffled"):
            raise ConfigError(f"ReorderedRows how must be 'reversed' or 'shuffled', not {self.how!r}")

    def slip(self, rows: Sequence[Row], question: Question) -> list[Row]:
        generator = question.by_content()
        if generator.random() >= self.share:
            return list(rows)
        return list(reversed(rows)) if self.how == "reversed" else generator.sample(list(rows), len(rows))
