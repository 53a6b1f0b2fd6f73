"""Vices that a study needs beside those of ``calipers.testing``: controls of a judge, and failures that recur."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calipers.errors import TransientError
from calipers.study.profiles.named import PositionCurve
from calipers.testing import Bias, Fault, Question, Row, Spoiled
from calipers.testing.faults import Write
from calipers.testing.question import own_characters, require_finite, require_probability


@dataclass(frozen=True, slots=True)
class Inverted(Bias):
    """Thinks the opposite: 1 - opinion. A control: a policy rewarded by it unlearns what is true."""

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:  # noqa: ARG002 - the interface requires it
        return [1 - opinion for opinion in opinions]


@dataclass(frozen=True, slots=True)
class Shuffled(Bias):
    """Gives the group's opinions to its candidates at random. A placebo: the same numbers, without information."""

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        mixed = list(opinions)
        question.by_content().shuffle(mixed)
        return mixed


@dataclass(frozen=True, slots=True)
class Random(Bias):
    """Thinks of each candidate a number drawn evenly from ``low`` to ``high``, whatever it says. A placebo."""

    low: float = 0.25
    high: float = 0.75

    def __post_init__(self) -> None:
        require_probability("Random low", self.low)
        require_probability("Random high", self.high)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        generator = question.by_content()
        return [generator.uniform(self.low, self.high) for _ in opinions]


@dataclass(frozen=True, slots=True)
class Undecided(Bias):
    """Thinks 0.5 of every candidate in a ``share`` (0-1) of the groups, in every question about such a group alike.

    With noise after it, the scores of these groups are noise alone, as where a judge cannot tell the responses apart.
    """

    share: float = 0.5

    def __post_init__(self) -> None:
        require_probability("Undecided share", self.share)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        return [0.5] * len(opinions) if question.by_group().random() < self.share else list(opinions)


@dataclass(frozen=True, slots=True)
class Unread(Fault):
    """Omits candidates from the reply, each with the probability ``rate``, in every question about the group alike.

    ``per_doubling`` links failures to length: each doubling of a candidate's characters over the mean of its group
    multiplies the odds of being omitted by exp(``per_doubling``); 0 makes failures independent of length. Asking again
    does not help, as with an answer that a judge refuses or cannot hold. If nothing is left, no reply comes.
    """

    rate: float = 0.1
    per_doubling: float = 0.0

    def __post_init__(self) -> None:
        require_probability("Unread rate", self.rate)
        require_finite("Unread per_doubling", self.per_doubling)

    def strike(self, rows: Sequence[Row], write: Write, question: Question) -> Spoiled | None:
        view = question.request.view
        lengths = [own_characters(candidate, view.prefix_length) for candidate in view.candidates]
        mean = sum(lengths) / len(lengths)
        read = []
        for row, candidate in zip(rows, question.shown, strict=True):
            longer = math.log2((own_characters(candidate, view.prefix_length) + 1) / (mean + 1))
            if question.by_candidate(candidate).random() >= self._chance(longer):
                read.append(row)
        if not read:
            raise TransientError("timeout", "the simulated judge did not answer in time")
        return None if len(read) == len(rows) else Spoiled(write(read))

    def _chance(self, doublings: float) -> float:
        if self.rate in (0.0, 1.0):
            return self.rate
        return 1 / (1 + (1 / self.rate - 1) * math.exp(-self.per_doubling * doublings))


def first_place(place: float) -> float:
    """Return the position bias of a judge that favours the first place only: 1 at ``place`` 0, else 0."""
    return float(place == 0)


def last_place(place: float) -> float:
    """Return the position bias of a judge that favours the last place only: 1 at ``place`` 1, else 0."""
    return float(place == 1)


CURVES: Final[Mapping[str, Callable[[float], float]]] = {
    "first": first_place,
    "last": last_place,
    "ends": PositionCurve((0.5, -0.5, 0.5)),
}
"""Position bias by name, beside the linear curve that PositionBias has without a name."""
