"""Divide groups into folds for cross-validation, so that no prompt is in two of them.

Groups of one prompt are alike: what is chosen on some of them looks good on the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from calipers.calibration.series import Frame
from calipers.types import TrajectoryGroup
from calipers.types.encoding import to_json_text

FOLDS: Final = 5
Folds: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def prompts(frame: Frame) -> Folds:
    """Return a number for each group of a calibration; groups with the same prompt have the same number.

    The prompt is what precedes the first answer. Without a message of a user, as where all tasks share instructions, it
    is no prompt, and the group is on its own.
    """
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(prompt_of(one), len(numbers)) for one in frame.groups], dtype=np.int64)


def prompt_of(group: TrajectoryGroup) -> str:
    """Return what tells the prompt of a group from others in a calibration, as ``prompts`` numbers them."""
    first = group.trajectories[0].messages if group.trajectories else ()
    before = [*group.context, *itertools.takewhile(lambda message: message.get("role") != "assistant", first)]
    if any(message.get("role") == "user" for message in before):
        return f"prompt {to_json_text([dict(one) for one in before])}"
    return f"group {group.group_id}"


def folds(sources: Sequence[int] | Folds) -> Folds | None:
    """Return the fold (0 to 4) of each group of a calibration, from its prompt's number and a fixed seed.

    Prompts with the most groups are dealt first, each to the fold that has the fewest groups. None if there are fewer
    than ten groups, or fewer than five prompts.
    """
    given = np.asarray(sources, dtype=np.int64)
    names, place, counts = np.unique(given, return_inverse=True, return_counts=True)
    if len(given) < 2 * FOLDS or len(names) < FOLDS:
        return None
    shuffled = np.random.default_rng(0).permutation(len(names))
    sizes, found = np.zeros(FOLDS), np.zeros(len(names), dtype=np.int64)
    for name in sorted(shuffled, key=lambda one: -counts[one]):
        fold = int(sizes.argmin())
        found[name] = fold
        sizes[fold] += counts[name]
    return np.asarray(found[place])
