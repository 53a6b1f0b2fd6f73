"""Reads what a local judge learns from: a ledger's groups with the scores of its runs, or groups and judgments files.

Not responsible for what counts as a good teacher, or for fitting (``training``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from calipers.calibration.records import Key, Record, read_judgments
from calipers.calibration.series import Frame, Series, build_series
from calipers.distilling.groups import GOLD, SPREAD, Training, TrainingGroup, training_group, within_spread
from calipers.distilling.pairs import LearnFrom
from calipers.errors import ConfigError, InputError
from calipers.inputs import as_group, read_groups
from calipers.inputs.jsonl import decompressed_stream, open_binary, parse_json_line
from calipers.ledger import LedgerReader
from calipers.ledger.answers import RecordedRun, find_run, require_object
from calipers.ledger.contents import recorded_group, recorded_results
from calipers.types import TrajectoryGroup

MOST_GROUPS: Final = 20_000
"""How many groups are learned from; of more, the latest."""
UNIT: Final = 0.25
"""The standard deviation within groups to which scores on other scales than 0 to 1 are brought."""
_LONGEST: Final = 2**26
_OWN: Final = ("local:", "embedded")
"""Judges that teach nothing: what a model of features says, a model of features needs no training for."""
_IN_TURN: Final = frozenset({"fallback"})
"""Panels in which the scores of the last judge asked count."""
_BELIEF: Final = 4.0
"""Degrees of freedom that the noise of all groups together has in the noise of one."""
OnError = Callable[[InputError], None]


def read_training(
    sources: Sequence[str | os.PathLike[str]],
    *,
    teachers: Sequence[str] = (),
    learn_from: LearnFrom = "both",
    run: int | None = None,
    format: str | None = None,  # noqa: A002 - what people call it
    on_error: OnError | None = None,
) -> Training:
    """Return the groups in ``sources`` with their teachers' scores, as a local judge sees them.

    ``sources`` are ledgers (files, or addresses of Postgres), or a groups file and a judgments file about it. Only
    scores of judges named in ``teachers`` count; by default, of all but local and embedded judges. Groups files without
    judgments are enough to learn from gold alone, which then is the teacher. Of a group that was judged several times,
    the latest scores count. Raises InputError, LedgerError and ConfigError for what cannot be read.
    """
    names = [os.fspath(one) for one in sources]
    ledgers = [one for one in names if is_address(one) or source_kind(Path(one)) == "ledger"]
    found = Training()
    for name in ledgers:
        _read_ledger(name, found, teachers, run)
    files = [one for one in names if one not in ledgers]
    if learn_from == "gold" and not teachers and not any(source_kind(Path(one)) == "judgments" for one in files):
        _read_gold(files, found, on_error)
    elif files:
        _read_files(files, found, teachers, format, on_error)
    if teachers and not found.teachers:
        raise ConfigError(f"--teacher {', '.join(teachers)}: no group was scored by it alone")
    latest = {one.digest: one for one in found.groups}
    found.groups = list(latest.values())[-MOST_GROUPS:]
    return found


def source_kind(path: Path) -> Literal["ledger", "groups", "judgments"]:
    """Return what a source of training groups holds, by its first line. Raises InputError for anything else."""
    with open_binary(path) as stream:
        first = decompressed_stream(stream).readline(_LONGEST)
    if first.startswith(b"SQLite format 3\x00"):
        return "ledger"
    if first.startswith(b"PAR1"):
        return "groups"
    row = parse_json_line(first.removeprefix(b"\xef\xbb\xbf")) if first.strip() else None
    if isinstance(row, dict) and "trajectories" in row:
        return "groups"
    if isinstance(row, dict) and {"group_id", "order"} <= row.keys():
        return "judgments"
    raise InputError(
        "is neither a groups file ('trajectories'), nor a judgments file ('group_id' and 'order'), nor a ledger",
        source=str(path),
        line=1,
    )


def is_address(source: str) -> bool:
    """Return whether a source of training groups is the address of a ledger, and no file."""
    return "://" in source


# --- ledgers ------------------------------------------------------------------------------------------------------


def _read_ledger(name: str, found: Training, teachers: Sequence[str], run: int | None) -> None:
    with LedgerReader(name) as ledger:
        runs = [run] if run is not None else [int(row[0]) for row in ledger.rows("SELECT id FROM runs ORDER BY id")]
        for number in runs:
            recorded = find_run(ledger, number)
            groups = list(_groups_of_run(ledger, recorded, found, teachers))
            found.groups += _on_unit_scale(groups)


def _groups_of_run(
    ledger: LedgerReader, recorded: RecordedRun, found: Training, teachers: Sequence[str]
) -> Iterator[TrainingGroup]:
    run = recorded.id
    judges = [str(one["judge"]) for one in recorded.settings["judges"]]
    in_turn = recorded.settings["panel"] in _IN_TURN
    for position, result in recorded_results(ledger, run):
        slots = sorted(slot for slot in _slots(ledger, run, position) if slot < len(judges))
        asked = {judges[slot] for slot in (slots[-1:] if in_turn else slots)}
        if why := _why_no_teacher(asked, teachers):
            found.leave_out(why)
            continue
        group = as_group(recorded_group(ledger, run, position))
        by_id = {str(one["id"]): one for one in result["trajectories"]}
        rows = [by_id.get(one.id, {}) for one in group.trajectories]
        one = training_group(group, [_number(row, "score") for row in rows], [_number(row, "stderr") for row in rows])
        if not one.has_spread and _spread_of_gold(one) <= SPREAD:
            found.leave_out("whose scores do not differ")
            continue
        found.teachers += [judge for judge in sorted(asked) if judge not in found.teachers]
        yield one


def _slots(ledger: LedgerReader, run: int, position: int) -> set[int]:
    """Return the slots of the judges whose judgments about a recorded group were read."""
    rows = ledger.rows("SELECT detail FROM asks WHERE run = ? AND position = ?", (run, position))
    details = [ledger.decoded(detail, require_object) for (detail,) in rows]
    return {int(one["slot"]) for detail in details for one in detail.get("judgments", ()) if "slot" in one}


def _why_no_teacher(asked: set[str], teachers: Sequence[str]) -> str:
    """Return why the scores of a group that ``asked`` judges scored teach nothing, "" if they do."""
    if not asked:
        return "without a score"
    if teachers:
        return "" if asked <= set(teachers) else "scored by other judges"
    own = [one for one in asked if one.startswith(_OWN)]
    if own:
        return (
            "that only a local judge scored" if len(own) == len(asked) else "whose scores a local judge has a part in"
        )
    return ""


def _number(row: dict[str, Any], name: str) -> float | None:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _spread_of_gold(one: TrainingGroup) -> float:
    known = one.gold[~np.isnan(one.gold)]
    return float(known.max() - known.min()) if len(known) > 1 else 0.0


def _on_unit_scale(groups: list[TrainingGroup]) -> list[TrainingGroup]:
    """Return the groups with their scores as they are, if all are from 0 to 1; else brought to a spread of UNIT."""
    known = np.concatenate([one.teacher[~np.isnan(one.teacher)] for one in groups]) if groups else np.zeros(0)
    spread = within_spread(groups)
    if not len(known) or spread == 0 or (known.min() >= 0 and known.max() <= 1):
        return groups
    factor = UNIT / spread
    return [replace(one, teacher=one.teacher * factor, stderr=one.stderr * factor) for one in groups]


# --- groups and judgments files -----------------------------------------------------------------------------------


def _read_gold(files: Sequence[str], found: Training, on_error: OnError | None) -> None:
    """Add the groups of files that have no judgments, with gold as their teacher."""
    for name in files:
        made = []
        for group in read_groups(name, on_error=on_error):
            gold = [one.gold for one in group.trajectories]
            one = training_group(group, gold, [None] * len(gold))
            if one.has_spread:
                made.append(one)
            else:
                found.leave_out("whose gold does not differ")
        if made and GOLD not in found.teachers:
            found.teachers.append(GOLD)
        found.groups += _on_unit_scale(made)


def _groups_and_records(
    files: Sequence[str],
    format: str | None,  # noqa: A002 - likewise
    on_error: OnError | None,
) -> tuple[dict[str, TrajectoryGroup], list[Record]]:
    """Return the groups of files by their ids, the first of each, and the judgments. Raises InputError without any."""
    groups: dict[str, TrajectoryGroup] = {}
    records: list[Record] = []
    for name in files:
        if source_kind(Path(name)) == "judgments":
            records += read_judgments(name, format=format, on_error=on_error)
        else:
            groups = {one.group_id: one for one in read_groups(name, on_error=on_error)} | groups
    if not groups:
        raise InputError("no groups were named; add the groups file that the judgments are about")
    if not records:
        raise InputError("no answers were named; add a judgments file (docs/calibration.md) or a ledger")
    return groups, records


def _read_files(
    files: Sequence[str],
    found: Training,
    teachers: Sequence[str],
    format: str | None,  # noqa: A002 - likewise
    on_error: OnError | None,
) -> None:
    groups, records = _groups_and_records(files, format, on_error)
    frame = Frame.of(groups.values())
    series = [one for one in build_series(records, frame)[0] if not teachers or one.key.judge in teachers]
    found.teachers += sorted({one.key.judge for one in series} - set(found.teachers))
    calls: dict[int, list[np.ndarray[Any, Any]]] = {}
    units = _units(records)
    for one in series:
        for row, known in _relative_calls(one, units[one.key]):
            calls.setdefault(row, []).append(known)
    if not calls:
        return
    noise = _noise(list(calls.values()))
    for row, group in enumerate(frame.groups):
        if row not in calls:
            found.leave_out("without a score")
            continue
        made = _scored_group(group, np.array(calls[row]), noise)
        if made.has_spread or _spread_of_gold(made) > SPREAD:
            found.groups.append(made)
        else:
            found.leave_out("whose scores do not differ")


def _units(records: Sequence[Record]) -> dict[Key, float]:
    """Return the width of each judge's scale: 1 for comparisons and rankings, 0 where no scale is known."""
    found: dict[Key, float] = {}
    for one in records:
        if one.scores is not None:
            found[one.key] = one.scale[1] - one.scale[0] if one.scale is not None else 0.0
    return {one.key: found.get(one.key, 1.0) for one in records}


def _relative_calls(one: Series, unit: float) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """Yield each call's scores less their mean, on a scale from 0 to 1.

    So a judge that is sure has more voice than one that is not. Without a known scale (``unit`` 0), the judge's scores
    are brought to a spread of UNIT within groups.
    """
    centred = one.calls - _mean(one.calls, axis=2)[:, :, None]
    squares = centred[~np.isnan(centred)] ** 2
    spread = float(np.sqrt(squares.mean())) if len(squares) else 0.0
    if spread <= SPREAD:
        return
    factor = 1 / unit if unit > 0 and one.scales == 1 else 1.0 if one.scales > 1 else UNIT / spread
    for place, row in enumerate(one.rows):
        for call in range(one.depth[place]):
            if not np.isnan(centred[place, call]).all():
                yield row, centred[place, call] * factor


def _mean(values: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    return np.where(count > 0, np.where(known, values, 0.0).sum(axis=axis) / np.maximum(count, 1), np.nan)


def _noise(calls: Sequence[Sequence[np.ndarray[Any, Any]]]) -> float | None:
    """Return the variance of one call's scores about the mean of a group's calls, pooled; None without repeats."""
    squares, freedom = 0.0, 0
    for found in calls:
        table = np.array(found)
        known = ~np.isnan(table)
        squares += float(np.nansum((table - _mean(table, axis=0)) ** 2))
        freedom += int(np.maximum(known.sum(axis=0) - 1, 0).sum())
    return squares / freedom if freedom else None


def _scored_group(group: TrajectoryGroup, table: np.ndarray[Any, Any], noise: float | None) -> TrainingGroup:
    """Return a group with the mean of its calls; its noise is between that of its own calls and that of all groups."""
    size = len(group.trajectories)
    means = _mean(table, axis=0)
    count = (~np.isnan(table)).sum(axis=0)
    errors = np.full(len(means), np.nan)
    if noise is not None:
        own = np.nansum((table - means) ** 2, axis=0)
        variance = (own + _BELIEF * noise) / (np.maximum(count - 1, 0) + _BELIEF)
        errors = np.sqrt(variance / np.maximum(count, 1))
    scores = [None if np.isnan(one) else 0.5 + float(one) for one in means[:size]]
    return training_group(group, scores, [None if np.isnan(one) else float(one) for one in errors[:size]])
