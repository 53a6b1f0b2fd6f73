"""Criteria that evolve: which are added, retired, refused or kept when earlier rollouts of a prompt are looked at.

A version of the criteria stays for a number of groups; then proposals from a contrast of earlier rollouts may join.
What all earlier rollouts satisfy is retired, and stays as a guard that some groups are still judged by. Pure. Not
responsible for the question to the writer (``contrast``), or for when it is asked (``judging.evolving_criteria``).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from calipers.criteria.checks import Checks
from calipers.types import Criterion

SATURATED: Final = 0.95
"""A criterion that at least this share of the rollouts satisfies tells nothing about them."""
RETURNS: Final = 0.8
"""A retired criterion that at most this share of the rollouts satisfies is used again."""
FEWEST: Final = 4
"""With fewer rollouts than this, nothing is predicted and nothing is retired."""
PREDICTED: Final = 0.9
"""A criterion is refused if length or markdown tells who meets it in this share of pairs, or in 1 less this share."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """An earlier answer as the contrast shows it: its own text, and how long and how formatted it is."""

    text: str
    characters: int
    marks: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """A criterion that the writer proposes, and the places of the shown rollouts that meet it (None: not said)."""

    text: str
    points: float
    veto: bool = False
    met: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class CriteriaSet:
    """A version of the criteria of a prompt: the ``active`` ones, and the ``retired`` ones, which are guards.

    ``saturation`` is the share of the rollouts shown last that satisfied a criterion, by its id; without a contrast it
    is unknown. ``notes`` say what became of proposals, in fixed words that quote none.
    """

    version: int = 0
    active: tuple[Criterion, ...] = ()
    retired: tuple[Criterion, ...] = ()
    saturation: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def guards(self, seed: str, share: float) -> tuple[Criterion, ...]:
        """Return the retired criteria by which a group is judged as well: each with the probability ``share``."""
        drawn = random.Random(f"guards:{seed}")  # noqa: S311 - reproducible, not secret
        return tuple(one for one in self.retired if drawn.random() < share)


def auc(values: Sequence[float], met: frozenset[int]) -> float | None:
    """Return how often a rollout that meets a criterion has the higher value than one that does not; ties count half.

    None if all meet it, or none does: the Mann-Whitney statistic needs both.
    """
    others = [place for place in range(len(values)) if place not in met]
    if not met or not others:
        return None
    wins = sum(1.0 if values[a] > values[b] else 0.5 if values[a] == values[b] else 0.0 for a in met for b in others)
    return wins / (len(met) * len(others))


def predicted_by(rollouts: Sequence[Rollout], met: frozenset[int]) -> str | None:
    """Return whether length or markdown tells which of the rollouts meet a criterion: its name, or None."""
    if len(rollouts) < FEWEST:
        return None
    for name, values in (
        ("length", [float(one.characters) for one in rollouts]),
        ("markdown", [float(one.marks) for one in rollouts]),
    ):
        share = auc(values, met)
        if share is not None and not 1 - PREDICTED < share < PREDICTED:
            return name
    return None


def next_set(
    before: CriteriaSet,
    proposals: Sequence[Proposal],
    present: Mapping[str, frozenset[int]],
    rollouts: Sequence[Rollout],
    checks: Checks,
    *,
    most: int,
) -> CriteriaSet:
    """Return the next version of the criteria of a prompt, from the contrast of ``rollouts``.

    ``present`` says which rollouts meet the criteria that exist, by id. ``checks`` know the texts of all of these. A
    veto is never retired. At most ``most`` criteria are active: a proposal beyond that replaces the active one that the
    rollouts satisfy most, if that is no veto, and is refused otherwise.
    """
    saturation = {
        one.id: _satisfied(one, present[one.id], len(rollouts))
        for one in (*before.active, *before.retired)
        if one.id in present and len(rollouts) >= FEWEST
    }
    notes: list[str] = []
    active, retired = _moved(before, saturation, rollouts, present, notes)
    names = (f"w{number}" for number in count(1))
    taken = {one.id for one in (*active, *retired)}
    for one in proposals:
        problem = _problem(one, rollouts, checks)
        room = None if problem else _room(active, saturation, most)
        if problem is not None or room is None:
            notes.append(
                f"a proposed criterion was refused: {problem or f'there are {most}, and none of them gives way'}"
            )
            continue
        if room:
            retired.append(room[0])
            active.remove(room[0])
            notes.append("a criterion was retired for a new one")
        name = next(name for name in names if name not in taken)
        taken.add(name)
        active.append(Criterion(name, one.text, one.points, veto=one.veto))
        assert one.met is not None  # noqa: S101 - a proposal without verdicts has a problem
        saturation[name] = _satisfied(active[-1], one.met, len(rollouts))
    told = {one.id: saturation[one.id] for one in (*active, *retired) if one.id in saturation}
    return CriteriaSet(before.version + 1, tuple(active), tuple(retired), told, tuple(dict.fromkeys(notes)))


def unchanged(before: CriteriaSet, why: str) -> CriteriaSet:
    """Return the next version of criteria that could not be looked at: the same, with the reason as a note."""
    return replace(before, version=before.version + 1, notes=(f"the criteria stay as they are: {why}",))


def _satisfied(criterion: Criterion, met: frozenset[int], rollouts: int) -> float:
    """Return the share of rollouts that are as a criterion desires: that meet it, or for a fault, that do not."""
    share = len(met) / rollouts
    return share if criterion.points > 0 else 1 - share


def _moved(
    before: CriteriaSet,
    saturation: Mapping[str, float],
    rollouts: Sequence[Rollout],
    present: Mapping[str, frozenset[int]],
    notes: list[str],
) -> tuple[list[Criterion], list[Criterion]]:
    """Return the active and the retired criteria after saturated ones were retired, and missed ones taken back."""
    active: list[Criterion] = []
    retired: list[Criterion] = []
    for one in before.active:
        by = predicted_by(rollouts, present[one.id]) if one.id in present else None
        if one.veto or (by is None and saturation.get(one.id, 0.0) < SATURATED):
            active.append(one)
        elif by is not None:
            notes.append(f"a criterion was refused: {by} tells which answers meet it")
        else:
            retired.append(one)
            notes.append("a criterion was retired: all earlier answers satisfy it")
    for one in before.retired:
        returns = saturation.get(one.id, 1.0) <= RETURNS
        (active if returns else retired).append(one)
        if returns:
            notes.append("a retired criterion is used again: earlier answers violate it")
    return active, retired


def _problem(one: Proposal, rollouts: Sequence[Rollout], checks: Checks) -> str | None:
    if one.met is None:
        return "it is not said which answers meet it"
    if (problem := checks.problem(one.text)) is not None:
        return problem
    if not one.veto and len(one.met) in (0, len(rollouts)):
        return "all earlier answers are alike in it"
    by = predicted_by(rollouts, one.met)
    return f"{by} tells which answers meet it" if by is not None else None


def _room(active: Sequence[Criterion], saturation: Mapping[str, float], most: int) -> tuple[Criterion, ...] | None:
    """Return the criterion that makes room for another (none if there is room); None if none gives way."""
    if len(active) < most:
        return ()
    known = [one for one in active if not one.veto and one.id in saturation]
    return (max(known, key=lambda one: saturation[one.id]),) if known else None
