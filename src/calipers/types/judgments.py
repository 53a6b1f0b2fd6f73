"""What answers say, in numbers: ratings, comparisons, verdicts, and the scores made of them.

The ledger records judgments by their field names, so these are part of its format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["strict", "repaired", "text", "partial", "rejected"]
CanaryKind: TypeAlias = Literal["empty", "master_key", "instruction"]


@dataclass(frozen=True, slots=True)
class Rating:
    """Candidate ``item`` got ``value`` (0-1) at position ``place`` of the list that the judge was shown.

    ``presentation`` numbers the list; an answer that fills the gaps of an earlier one has that one's number.
    ``spread`` is the value's standard deviation by the judge's log-probabilities, if there are any.
    """

    item: int
    value: float
    presentation: int
    place: int = 0
    slot: int = 0
    spread: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """``first`` was shown before ``second``; ``margin`` in [-1, 1] is above 0 if the first is better, 0 for a tie."""

    first: int
    second: int
    margin: float
    presentation: int
    slot: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """``met`` is True, False, or None where it is unknown, with the ``reason``.

    It is about ``criterion`` of candidate ``item``, in presentation ``presentation``, by panel member ``slot``.
    ``share`` is the share (0-1) of the points that a criterion with levels earns. ``quote`` is evidence found verbatim
    in the trajectory.
    """

    met: bool | None
    reason: str = ""
    item: int | None = None
    criterion: str | None = None
    presentation: int = field(default=0, repr=False)
    slot: int = field(default=0, repr=False)
    share: float | None = field(default=None, repr=False)
    quote: str | None = field(default=None, repr=False)


Judgment: TypeAlias = Rating | Comparison | Verdict


@dataclass(frozen=True, slots=True)
class Canary:
    """A decoy answer was judged, and ``won`` or not. ``alone``: in a separate question before the real one."""

    kind: CanaryKind
    won: bool
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one answer. ``missing`` maps candidates that were asked about and got nothing to the reason.

    ``reason`` describes the problem (None: no problem); ``truncated`` means that the reply ended inside its answer.
    ``complaint`` tells the judge about the problem in fixed words, so that no text of a reply gets into a question;
    None where asking again is pointless. ``open`` are the (candidate, criterion) pairs to ask about again. ``canary``
    is set where a decoy answer was shown and scored.
    """

    judgments: tuple[Judgment, ...]
    outcome: Outcome
    reason: str | None = None
    missing: Mapping[int, str] = field(default_factory=dict)
    explanations: Mapping[int, str] = field(default_factory=dict)
    truncated: bool = False
    warnings: tuple[str, ...] = ()
    complaint: str | None = None
    open: tuple[tuple[int, str], ...] = ()
    canary: Canary | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """A value and a standard error for each candidate; None where there is no judgment, or the error is unknown."""

    values: tuple[float | None, ...]
    stderrs: tuple[float | None, ...]


@lru_cache(maxsize=64)
def unscored(n: int) -> Scores:
    """The scores of ``n`` candidates without any judgment."""
    return Scores((None,) * n, (None,) * n)
