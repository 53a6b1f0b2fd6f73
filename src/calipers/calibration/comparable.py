"""Which groups figures are compared on: those that two judges share, and folds that no prompt is in two of.

A judge that does not score the hard groups looks better on the rest. Groups of one prompt are alike: what is chosen on
some of them looks good on the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from calipers.calibration.measures import Counts
from calipers.calibration.series import Frame
from calipers.types import TrajectoryGroup
from calipers.types.encoding import to_json_text

MIN_GROUPS: Final = 30
"""The fewest groups for a choice: with fewer groups, intervals are too wide."""
FOLDS: Final = 5


def enough_groups(counts: Counts) -> int:
    """Return how many groups a comparison needs: ``MIN_GROUPS``, or half of the largest of ``counts`` if less."""
    return max(min(MIN_GROUPS, math.ceil(int(counts.max(initial=0)) / 2)), 1)


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
        return f"prompt {to_json_text([dict(message) for message in before])}"
    return f"group {group.group_id}"


def folds(sources: Sequence[int] | Counts) -> Counts | None:
    """Return the fold (0 to 4) of each group, from its prompt's number and a fixed seed.

    Prompts with the most groups are dealt first, each to the fold that has the fewest groups. None if there are fewer
    than ten groups, or fewer than five prompts.
    """
    source_numbers = np.asarray(sources, dtype=np.int64)
    names, place, counts = np.unique(source_numbers, return_inverse=True, return_counts=True)
    if len(source_numbers) < 2 * FOLDS or len(names) < FOLDS:
        return None
    shuffled = np.random.default_rng(0).permutation(len(names))
    sizes, dealt = np.zeros(FOLDS), np.zeros(len(names), dtype=np.int64)
    for name in sorted(shuffled, key=lambda number: -counts[number]):
        fold = int(sizes.argmin())
        dealt[name] = fold
        sizes[fold] += counts[name]
    return np.asarray(dealt[place])
