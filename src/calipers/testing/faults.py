"""Faults of a simulated judge's delivery: replies that are broken, incomplete or never come."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from random import Random
from typing import TypeAlias

from calipers.errors import ConfigError, TransientError
from calipers.testing.question import Question, require_finite, require_probability
from calipers.testing.slips import Row
from calipers.types import FinishReason

Write: TypeAlias = Callable[[Sequence[Row]], str]


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A reply's text and finish reason after a fault changed them."""

    text: str
    finish_reason: FinishReason = "stop"


class Fault(ABC):
    """Breaks or prevents a simulated judge's reply.

    Subclass it for your own vice; draw randomness from ``question`` only.
    """

    __slots__ = ()

    @abstractmethod
    def strike(self, rows: Sequence[Row], write: Write, question: Question) -> Spoiled | None:
        """Return the simulated judge's broken reply, or None to leave the reply as it is.

        Raises TransientError or PermanentError if no reply comes. ``write`` turns rows, changed or not, into the
        reply's text.
        """


@dataclass(frozen=True, slots=True)
class Flaky(Fault):
    """Causes at most one fault in a call, each at its own rate (0-1, summing to at most 1), all 0 by default.

    ===============  ==================================================================================================
    malformed        JSON that does not parse: unclosed, trailing or missing commas, single quotes or bare keys
    missing_ids      well-formed, without at least one and at most half of the ids (a single id is always missing)
    duplicate_ids    well-formed, but one id comes twice with scores that differ
    unknown_ids      well-formed, but one id is replaced by an id that no candidate has
    truncated        cut at a random position, finish reason "length"
    empty            no text at all
    refused          an apology in place of an answer, finish reason "refused"
    rate_limited     TransientError of kind "rate_limited" (HTTP 429) with ``retry_after`` (seconds, or None)
    server_error     TransientError of kind "server" (HTTP 500)
    timeout          TransientError of kind "timeout", raised at once
    ===============  ==================================================================================================

    The fault is drawn from the seed, the request, and how often this judge object got the same request before, never
    from arrival order: a retry of the same request draws anew and can succeed, and a fresh judge repeats the same
    sequence.
    """

    malformed: float = 0.0
    missing_ids: float = 0.0
    duplicate_ids: float = 0.0
    unknown_ids: float = 0.0
    truncated: float = 0.0
    empty: float = 0.0
    refused: float = 0.0
    rate_limited: float = 0.0
    server_error: float = 0.0
    timeout: float = 0.0
    retry_after: float | None = None

    def __post_init__(self) -> None:
        for name, rate in self.rates().items():
            require_probability(f"Flaky {name}", rate)
        if sum(self.rates().values()) > 1 + 1e-9:
            raise ConfigError(f"Flaky rates sum to {sum(self.rates().values()):g}; at most 1 can be shared out")
        if self.retry_after is not None:
            require_finite("Flaky retry_after", self.retry_after, least=0)

    @classmethod
    def evenly(cls, rate: float) -> Flaky:
        """Return a Flaky for a simulated judge with all ten faults, each equally likely.

        ``rate`` (0-1) is their sum.
        """
        names = [item.name for item in fields(cls) if item.name != "retry_after"]
        return cls(**dict.fromkeys(names, rate / len(names)))

    def rates(self) -> dict[str, float]:
        """Return the rate of each fault of a simulated judge by its name."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "retry_after"}

    def strike(self, rows: Sequence[Row], write: Write, question: Question) -> Spoiled | None:
        generator = question.by_attempt()
        fault = _drawn_fault(self.rates(), generator.random())
        match fault:
            case None:
                return None
            case "rate_limited":
                message = "the simulated judge is asked too often (429)"
                raise TransientError("rate_limited", message, retry_after=self.retry_after)
            case "server_error":
                raise TransientError("server", "the simulated judge had an internal error (500)")
            case "timeout":
                raise TransientError("timeout", "the simulated judge did not answer in time")
            case _:
                return _SPOILERS[fault](rows, write, generator)


def _drawn_fault(rates: dict[str, float], point: float) -> str | None:
    """Return the fault that ``point`` (0-1) selects when the rates are laid end to end; None beyond the last."""
    for name, rate in rates.items():
        if point < rate:
            return name
        point -= rate
    return None


def _truncated(rows: Sequence[Row], write: Write, generator: Random) -> Spoiled:
    text = write(rows)
    return Spoiled(text[: generator.randrange(max(1, len(text)))], "length")


def _with_missing_ids(rows: Sequence[Row], write: Write, generator: Random) -> Spoiled:
    count = generator.randint(1, max(1, len(rows) // 2))
    dropped = set(generator.sample(range(len(rows)), count))
    return Spoiled(write([row for place, row in enumerate(rows) if place not in dropped]))


def _with_duplicate_id(rows: Sequence[Row], write: Write, generator: Random) -> Spoiled:
    row = generator.choice(rows)
    # Far enough not to look like rounding, and still on 0-100.
    second_score = row.score - 40 if row.score >= 50 else row.score + 40
    return Spoiled(write([*rows, replace(row, score=second_score)]))


def _with_unknown_id(rows: Sequence[Row], write: Write, generator: Random) -> Spoiled:
    known = {row.key for row in rows}
    foreign = generator.choice([key for key in ("ZQXJV", "WKZQH", "QZZWX") if key not in known])
    place = generator.randrange(len(rows))
    return Spoiled(write([replace(row, key=foreign) if here == place else row for here, row in enumerate(rows)]))


BREAKAGES: tuple[Callable[[str], str], ...] = (
    lambda text: text.rstrip("}"),
    lambda text: text.replace("}", ",}"),
    lambda text: text.replace('"', "'"),
    lambda text: re.sub(r'"(\w+)":', r"\1:", text),
    lambda text: text.replace(", ", " "),
)
"""Functions that break JSON so that it does not parse; a reader can repair some results and must refuse the rest."""

_SPOILERS: dict[str, Callable[[Sequence[Row], Write, Random], Spoiled]] = {
    "malformed": lambda rows, write, generator: Spoiled(generator.choice(BREAKAGES)(write(rows))),
    "missing_ids": _with_missing_ids,
    "duplicate_ids": _with_duplicate_id,
    "unknown_ids": _with_unknown_id,
    "truncated": _truncated,
    "empty": lambda *_: Spoiled(""),
    "refused": lambda *_: Spoiled("I am sorry, but I cannot rate these attempts.", "refused"),
}
