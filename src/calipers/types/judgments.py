"""What a judge's answers say in numbers: ratings, comparisons, verdicts, and the scores computed from them.

The ledger records judgments by their field names, so these are part of its format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["strict", "repaired", "text", "partial", "rejected"]
CanaryKind: TypeAlias = Literal["empty", "master_key", "instruction"]
ErrorBasis: TypeAlias = Literal["repeats", "learned", "assumed"]
"""What standard errors rest on: several answers about this group; earlier answers of the judge (and this group's
repeats, where there are any); or what a model or the judge's log-probabilities assume.
"""


@dataclass(frozen=True, slots=True)
class Rating:
    """The judge gave candidate ``item`` the ``value`` (0-1) when it was at position ``place`` of the list shown.

    ``presentation`` is the number of that list; an answer that fills the gaps of an earlier answer has the earlier
    number. ``spread`` is the value's standard deviation according to the judge's log-probabilities, if there are any.
    """

    item: int
    value: float
    presentation: int
    place: int = 0
    slot: int = 0
    spread: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The judge compared two candidates, ``first`` shown before ``second``.

    ``margin`` (-1 to 1) is above 0 if the first is better, and 0 for a tie.
    """

    first: int
    second: int
    margin: float
    presentation: int
    slot: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's or a rule's verdict on a criterion: ``met`` is True, False, or None for unknown, with the ``reason``.

    The verdict is about ``criterion`` of candidate ``item``, in presentation ``presentation``, by panel member
    ``slot``.
    """

    met: bool | None
    reason: str = ""
    item: int | None = None
    criterion: str | None = None
    presentation: int = field(default=0, repr=False)
    slot: int = field(default=0, repr=False)


Judgment: TypeAlias = Rating | Comparison | Verdict


@dataclass(frozen=True, slots=True)
class Canary:
    """A decoy answer that the judge scored; ``won`` says whether it won. ``alone`` means that a separate question
    showed it, before the real question.
    """

    kind: CanaryKind
    won: bool
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one answer of a judge. ``missing`` gives the reason for each candidate that was asked about
    but has no score.

    ``reason`` describes the problem with the answer (None: no problem); ``truncated`` means that the reply ended inside
    the answer. ``complaint`` describes the problem to the judge in fixed words, so that no text of a reply gets into
    the next question; None if repeating the question is pointless. ``open`` are the (candidate, criterion) pairs to ask
    about again. ``canary`` is set if a decoy answer was shown and scored. ``doubted`` are the values (candidate, aspect
    or criterion, value) of a reply with words around its verdict: they count if the judge gives them again.
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
    doubted: tuple[tuple[int, str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Scores:
    """The score of each candidate (None if there is no judgment), and its standard error (None if it is unknown).

    ``basis`` says what the errors rest on (None: not stated), and ``freedom`` on how many degrees of freedom the noise
    was estimated (None: unknown).
    """

    values: tuple[float | None, ...]
    stderrs: tuple[float | None, ...]
    basis: ErrorBasis | None = None
    freedom: float | None = None


@lru_cache(maxsize=64)
def no_scores(n: int) -> Scores:
    """Return the scores of ``n`` candidates as data before any judgment: all None."""
    return Scores((None,) * n, (None,) * n)
