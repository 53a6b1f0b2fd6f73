"""The order in which groups are labelled, the same for every annotator: contested ones, and among them a random sample.

Every fourth group comes from a random order, because figures from contested groups alone are worse than the judge is.
Without results all groups come in this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from calipers.labelling.groups import seed_of
from calipers.report import Judged
from calipers.report.flags import is_disputed, is_flipped
from calipers.report.questions import DECOY, Lines, questions_of
from calipers.types.encoding import finite_number

EVERY: Final = 4
"""Every so many groups, one comes from the random order."""


@dataclass(frozen=True, slots=True)
class Contest:
    """How contested a judged group is: ``flags`` counts disputed and flipped; ``doubt`` is from 0 to 1."""

    flags: int = 0
    doubt: float = 0.0


def queue(ids: Sequence[str], known: Mapping[str, Contest]) -> list[int]:
    """Return the numbers of all groups in the order in which they are labelled: the same for every annotator."""
    chance = random_order(ids)
    place = {number: at for at, number in enumerate(chance)}
    contested = [number for number, name in enumerate(ids) if (one := known.get(name)) and (one.flags or one.doubt > 0)]
    contested.sort(key=lambda number: (-known[ids[number]].flags, -known[ids[number]].doubt, place[number]))
    found: dict[int, None] = {}
    at_random, by_contest = iter(chance), iter(contested)
    for turn in range(len(ids)):
        source = at_random if turn % EVERY == EVERY - 1 else by_contest
        number = next((one for one in source if one not in found), None)
        if number is None:
            number = next(one for one in at_random if one not in found)
        found[number] = None
    return list(found)


def random_order(ids: Sequence[str]) -> list[int]:
    """Return the numbers of all groups in a random order that depends on their ids alone, not on the file's order."""
    return sorted(range(len(ids)), key=lambda number: (seed_of("order of groups", ids[number]), ids[number]))


_ALIKE: Final = 1e-12


def contests(judged_groups: Iterable[Judged]) -> dict[str, Contest]:
    """Return how contested each judged group is, by id. Groups without two scores are left out."""
    found = {}
    for judged in judged_groups:
        members = [one for one in judged.result["trajectories"] if finite_number(one.get("score")) is not None]
        if len(members) > 1:
            questions = _questions(judged)
            flags = is_disputed(questions) + is_flipped(questions)
            found[str(judged.result["group_id"])] = Contest(flags, _error_share(members))
    return found


def _questions(judged: Judged) -> list[dict[str, Any]]:
    """Return a group's questions as the report has them; judgments of a decoy are left out."""
    found = questions_of(judged, Lines())
    for one in found:
        one["judgments"] = [
            judgment
            for judgment in one["judgments"]
            if DECOY not in {judgment.get(key) for key in ("item", "first", "second")}
        ]
    return found


def _error_share(members: Sequence[Mapping[str, Any]]) -> float:
    errors = [finite_number(one.get("stderr")) for one in members]
    if None in errors:
        return 0.0
    squared = float(np.mean(np.square([one for one in errors if one is not None])))
    scores = [score for one in members if (score := finite_number(one.get("score"))) is not None]
    spread = float(np.var(scores))
    return squared / (squared + spread) if squared + spread > _ALIKE else 0.0
