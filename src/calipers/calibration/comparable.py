"""Which groups figures are compared on: those that all judges scored, and folds that no prompt is in two of.

A judge that does not score the hard groups looks better on the rest. Groups of one prompt are alike: what is chosen on
some of them looks good on the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from calipers.calibration.measures import Array, Counts, Flags
from calipers.calibration.series import Frame
from calipers.types import TrajectoryGroup
from calipers.types.encoding import to_json_text

MIN_GROUPS: Final = 30
"""The fewest groups for a choice: with fewer groups, intervals are too wide."""
FOLDS: Final = 5


@dataclass(frozen=True, slots=True)
class Common:
    """The ``rows`` of a table are compared on its columns ``groups``; both are flags.

    ``shared`` is False if too few groups are common: then each row is measured on its own groups.
    """

    rows: Flags
    groups: Flags
    shared: bool


def common_groups(table: Array) -> Common:
    """Return the part of ``table`` (rows, groups; NaN where unknown) that can be compared.

    All rows must share at least ``MIN_GROUPS`` groups, or half as many groups as the largest row has. If they share
    fewer, rows with less than half as many groups as the largest row are omitted.
    """
    known = ~np.isnan(table)
    counts = known.sum(axis=1)
    most = int(counts.max(initial=0))
    every = np.ones(len(table), dtype=bool)
    need = max(min(MIN_GROUPS, math.ceil(most / 2)), 1)
    for rows in (every, 2 * counts >= most):
        groups = np.asarray(known[rows].all(axis=0))
        if rows.any() and int(groups.sum()) >= need:
            return Common(np.asarray(rows), groups, shared=True)
    return Common(every, np.asarray(known.any(axis=0)), shared=False)


def prompts(frame: Frame) -> Counts:
    """Return a number for each group; groups with the same prompt have the same number."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(prompt_of(group), len(numbers)) for group in frame.groups], dtype=np.int64)


def prompt_of(group: TrajectoryGroup) -> str:
    """Return what tells the prompt of a group from others: what precedes the first answer.

    Without a message of a user, as where all tasks share instructions, it is no prompt, and the group is on its own.
    """
    first = group.trajectories[0].messages if group.trajectories else ()
    before = [*group.context, *itertools.takewhile(lambda message: message.get("role") != "assistant", first)]
    if any(message.get("role") == "user" for message in before):
        return f"prompt {to_json_text([dict(one) for one in before])}"
    return f"group {group.group_id}"


def folds(sources: Sequence[int] | Counts) -> Counts | None:
    """Return the fold (0 to 4) of each group, from its prompt's number and a fixed seed.

    Prompts with the most groups are dealt first, each to the fold that has the fewest groups. None if there are fewer
    than ten groups, or fewer than five prompts.
    """
    given = np.asarray(sources, dtype=np.int64)
    names, place, counts = np.unique(given, return_inverse=True, return_counts=True)
    if len(given) < 2 * FOLDS or len(names) < FOLDS:
        return None
    shuffled = np.random.default_rng(0).permutation(len(names))
    sizes, dealt = np.zeros(FOLDS), np.zeros(len(names), dtype=np.int64)
    for name in sorted(shuffled, key=lambda one: -counts[one]):
        fold = int(sizes.argmin())
        dealt[name] = fold
        sizes[fold] += counts[name]
    return np.asarray(dealt[place])
