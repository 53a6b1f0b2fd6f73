"""What a local judge is trained on: groups as it sees them, with the teacher's scores and, where there is any, gold.

Not responsible for reading them (``sources``) or for fitting (``training``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from calipers.backends.local.features import Array, MeasuredGroup, measure_group
from calipers.calibration.folds import prompt_of
from calipers.render import render
from calipers.types import RenderedGroup, TrajectoryGroup

SPREAD = 1e-9
"""Scores that differ by no more are equal."""
GOLD = "gold"
"""The name of the teacher where gold alone teaches."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingGroup:
    """A group that a teacher scored. Arrays have an entry for each candidate, NaN where nothing is known.

    ``teacher`` are the teacher's scores, ``stderr`` their standard errors, ``gold`` the gold scores. ``source`` is a
    hash of the prompt, and ``digest`` one of the whole content. ``group`` is the group itself, None if only its
    features were stored.
    """

    measured: MeasuredGroup
    teacher: Array
    stderr: Array
    gold: Array
    source: str
    digest: str
    group: TrajectoryGroup | None = None

    @property
    def has_spread(self) -> bool:
        """Whether the teacher's scores of the group differ."""
        return spread_of(self.teacher) > SPREAD


@dataclass(slots=True)
class Training:
    """Everything that was read for a local judge: ``groups``, the ``teachers``' names, and the number of groups left
    out, by reason.
    """

    groups: list[TrainingGroup] = field(default_factory=list)
    teachers: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, reason: str) -> None:
        """Count a group that teaches nothing."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1


def spread_of(scores: Array) -> float:
    """Return the difference of the largest and the smallest known score of a training group; 0 below two."""
    known = scores[~np.isnan(scores)]
    return float(known.max() - known.min()) if len(known) > 1 else 0.0


def training_group(
    group: TrajectoryGroup, scores: Sequence[float | None], stderrs: Sequence[float | None]
) -> TrainingGroup:
    """Return ``group`` as a local judge sees it, with the teacher's score and standard error of each trajectory."""
    view = render(group)
    return TrainingGroup(
        measure_group(view),
        _of_candidates(view, scores),
        _of_candidates(view, stderrs),
        _of_candidates(view, [one.gold for one in group.trajectories]),
        short_hash(prompt_of(group)),
        view.digest,
        group,
    )


def short_hash(text: str) -> str:
    """Return 16 characters that tell a training group's text from others."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _of_candidates(view: RenderedGroup, values: Sequence[float | None]) -> Array:
    """Return the mean of the known values of each candidate's trajectories."""
    found = np.full(len(view.candidates), np.nan)
    for place, candidate in enumerate(view.candidates):
        known = [value for member in candidate.members if (value := values[member]) is not None]
        if known:
            found[place] = float(np.mean(known))
    return found


def within_spread(groups: Sequence[TrainingGroup]) -> float:
    """Return the standard deviation of the teacher's scores within training groups, pooled; 0 if none differ."""
    squares = [((one.teacher - np.nanmean(one.teacher)) ** 2) for one in groups if one.has_spread]
    known = np.concatenate(squares) if squares else np.zeros(0)
    known = known[~np.isnan(known)]
    return float(np.sqrt(known.mean())) if len(known) else 0.0


def padded(rows: Sequence[Array]) -> Array:
    """Return arrays of training groups' candidates as one table, (groups, members), NaN where there is none."""
    table = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table
