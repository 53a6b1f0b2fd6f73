"""What a local judge is trained on: the groups of ledgers as it sees them, with their judges' scores and any gold."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from calipers.backends.local.features import Array, MeasuredGroup, measure_group
from calipers.backends.names import short_names, split_judge_name
from calipers.calibration.comparable import prompt_of
from calipers.errors import ConfigError
from calipers.inputs import as_group
from calipers.ledger import read_ledger
from calipers.ledger.answers import RecordedRun, find_run, require_object
from calipers.ledger.contents import recorded_group, recorded_groups
from calipers.ledger.database import ReadableLedger
from calipers.render import render
from calipers.types import RenderedGroup, TrajectoryGroup
from calipers.types.encoding import measured_number

SPREAD: Final = 1e-9
"""Scores that differ by no more are equal."""
_MOST_GROUPS: Final = 20_000
"""How many groups are learned from; of more, the latest."""
_UNIT: Final = 0.25
"""The standard deviation within groups to which scores on other scales than 0 to 1 are brought."""
_SMALL: Final = ("local:", "embedded")
"""Judges that teach nothing: what a model of features says, a model of features needs no training for."""
_IN_TURN: Final = frozenset({"fallback"})
"""Panels in which the scores of the last judge asked count."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingGroup:
    """A group that a teacher scored. Arrays have an entry for each candidate, NaN where nothing is known.

    ``teacher`` are the teacher's scores, ``stderr`` their standard errors, ``gold`` the gold scores. ``source`` is a
    hash of the prompt, and ``digest`` one of the whole content.
    """

    measured: MeasuredGroup
    teacher: Array
    stderr: Array
    gold: Array
    source: str
    digest: str
    group: TrajectoryGroup

    @property
    def has_spread(self) -> bool:
        """Whether the teacher's scores of the group differ."""
        known = self.teacher[~np.isnan(self.teacher)]
        return len(known) > 1 and float(known.max() - known.min()) > SPREAD


@dataclass(frozen=True, slots=True)
class Training:
    """Everything that was read for a local judge: ``groups``, the names of the ``teachers`` whose scores these have,
    and the number of groups left out, by reason.
    """

    groups: list[TrainingGroup]
    teachers: list[str]
    left_out: dict[str, int]


def read_training(ledgers: Sequence[str], *, teachers: Sequence[str] = (), run: int | None = None) -> Training:
    """Return the groups in ``ledgers`` (files, or addresses of Postgres) with their judges' scores.

    Only scores of judges named in ``teachers`` count, with or without a server's address; by default, of all but local
    and embedded judges. A group that is in several runs is one group: the latest scores count, and it is left out only
    if no run has usable ones. Raises LedgerError and ConfigError for what cannot be read.
    """
    learned: dict[str, TrainingGroup] = {}
    left_out: dict[str, str] = {}
    scored_by: dict[str, set[str]] = {}
    judges: set[str] = set()
    for name in ledgers:
        with read_ledger(name) as ledger:
            runs = [run] if run is not None else [int(row[0]) for row in ledger.rows("SELECT id FROM runs ORDER BY id")]
            for number in runs:
                usable = []
                for group, asked, reason in _groups_of_run(ledger, find_run(ledger, number), teachers):
                    judges |= asked
                    if reason:
                        left_out[group.digest] = reason
                    else:
                        usable.append(group)
                        scored_by[group.digest] = asked
                learned |= {group.digest: group for group in _on_unit_scale(usable)}
    names = short_names(judges)
    if judges and (unknown := sorted({*teachers} - {*names, *names.values()})):
        problem = f"--teacher {unknown[0]}: no judge, or several, have this name; choose among:"
        raise ConfigError("\n  ".join([problem, *sorted(judges)]))
    if teachers and not learned:
        raise ConfigError(f"--teacher {', '.join(teachers)}: no group in these ledgers was scored by this judge alone")
    kept = list(learned)[-_MOST_GROUPS:]
    used = dict.fromkeys(judge for digest in kept for judge in sorted(scored_by[digest]))
    reasons = Counter(reason for digest, reason in left_out.items() if digest not in learned)
    return Training([learned[digest] for digest in kept], list(used), dict(reasons))


def _groups_of_run(
    ledger: ReadableLedger, recorded: RecordedRun, teachers: Sequence[str]
) -> Iterator[tuple[TrainingGroup, set[str], str]]:
    """Yield each group of a run, the judges that scored it, and why it teaches nothing ("" if it does)."""
    run = recorded.id
    judges = [str(judge["judge"]) for judge in recorded.settings["judges"]]
    in_turn = recorded.settings["panel"] in _IN_TURN
    for position, result in recorded_groups(ledger, run, "result"):
        slots = sorted(slot for slot in _slots(ledger, run, position) if slot < len(judges))
        asked = {judges[slot] for slot in (slots[-1:] if in_turn else slots)}
        group = as_group(recorded_group(ledger, run, position))
        by_id = {str(trajectory["id"]): trajectory for trajectory in result["trajectories"]}
        rows = [by_id.get(trajectory.id, {}) for trajectory in group.trajectories]
        scores, stderrs = ([measured_number(row.get(name)) for row in rows] for name in ("score", "stderr"))
        training = training_group(group, scores, stderrs)
        why = _why_no_teacher(asked, teachers) or ("" if training.has_spread else "whose scores do not differ")
        yield training, asked, why


def _slots(ledger: ReadableLedger, run: int, position: int) -> set[int]:
    """Return the slots of the judges whose judgments about a recorded group were read."""
    rows = ledger.rows("SELECT detail FROM asks WHERE run = ? AND position = ?", (run, position))
    details = [ledger.decoded(detail, require_object) for (detail,) in rows]
    return {int(row["slot"]) for detail in details for row in detail.get("judgments", ()) if "slot" in row}


def _why_no_teacher(asked: set[str], teachers: Sequence[str]) -> str:
    """Return why the scores of a group that ``asked`` judges scored teach nothing, "" if they do."""
    if not asked:
        return "without a score"
    if teachers:
        is_named = all({judge, split_judge_name(judge)[0]} & {*teachers} for judge in asked)
        return "" if is_named else "scored by other judges"
    small = [judge for judge in asked if judge.startswith(_SMALL)]
    if len(small) == len(asked):
        return "that only local or embedded judges scored"
    return "whose scores a local or embedded judge has a part in" if small else ""


def _on_unit_scale(groups: list[TrainingGroup]) -> list[TrainingGroup]:
    """Return the groups with their scores as they are, if all are from 0 to 1; else brought to a spread of _UNIT."""
    known = np.concatenate([group.teacher[~np.isnan(group.teacher)] for group in groups]) if groups else np.zeros(0)
    spread = within_spread(groups)
    if not len(known) or spread == 0 or (known.min() >= 0 and known.max() <= 1):
        return groups
    factor = _UNIT / spread
    return [replace(group, teacher=group.teacher * factor, stderr=group.stderr * factor) for group in groups]


def training_group(
    group: TrajectoryGroup, scores: Sequence[float | None], stderrs: Sequence[float | None]
) -> TrainingGroup:
    """Return ``group`` as a local judge sees it, with the teacher's score and standard error of each trajectory."""
    view = render(group)
    return TrainingGroup(
        measure_group(view),
        _of_candidates(view, scores),
        _of_candidates(view, stderrs),
        _of_candidates(view, [trajectory.gold for trajectory in group.trajectories]),
        hashlib.sha256(prompt_of(group).encode("utf-8", "replace")).hexdigest()[:16],
        view.digest,
        group,
    )


def _of_candidates(view: RenderedGroup, values: Sequence[float | None]) -> Array:
    """Return the mean of the known values of each candidate's trajectories."""
    means = np.full(len(view.candidates), np.nan)
    for place, candidate in enumerate(view.candidates):
        known = [value for member in candidate.members if (value := values[member]) is not None]
        if known:
            means[place] = float(np.mean(known))
    return means


def within_spread(groups: Sequence[TrainingGroup]) -> float:
    """Return the standard deviation of the teacher's scores within training groups, pooled; 0 if none differ."""
    squares = [((group.teacher - np.nanmean(group.teacher)) ** 2) for group in groups if group.has_spread]
    known = np.concatenate(squares) if squares else np.zeros(0)
    known = known[~np.isnan(known)]
    return float(np.sqrt(known.mean())) if len(known) else 0.0


def padded(rows: Sequence[Array]) -> Array:
    """Return arrays of training groups' candidates as one table, (groups, members), NaN where there is none."""
    table = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table
