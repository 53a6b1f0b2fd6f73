"""A judge's recorded answers as arrays: one row for each list of candidates that the judge answered about.

A *list* is one answer: a ranking, a pair, or scores of several candidates; of a pointwise judge, it is a call, which
scores each member of a group separately. Missing values are NaN, never a number. Not responsible for reading files
(``sources``), or for statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from calipers.calibration.arrays import Array, Flags
from calipers.calibration.records import Key, Record
from calipers.calibration.series import Frame, calls_of_group, count_off_scale, values_by_member
from calipers.errors import InputError
from calipers.study.profiles.profile import Kind
from calipers.types.counted import counted

Numbers: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of one judge to one kind of question, about groups of ``frame``.

    Arrays have the shape (lists, members). ``members`` are columns of the frame (-1: none), ``scores`` are from 0 to 1,
    ``places`` positions in the list shown (NaN for a pointwise judge), ``quality`` is gold mapped to 0-1 by
    ``gold_range``. Of each list, ``group`` is its row of the frame, ``members_of`` numbers the set of members in it,
    and ``question`` the set in its order, so that repeats of a question have the same number. ``records`` counts the
    recorded answers, ``off_scale`` their scores outside their scale, and ``scales`` their scales.
    """

    key: Key
    kind: Kind
    frame: Frame
    members: Numbers
    scores: Array
    places: Array
    quality: Array
    group: Numbers
    members_of: Numbers
    question: Numbers
    scale: tuple[float, float] | None
    gold_range: tuple[float, float] | None
    records: int
    off_scale: int = 0
    scales: int = 1

    @property
    def asked(self) -> Flags:
        """Which entries of a judge's lists are candidates that the judge was asked about."""
        return np.asarray(self.members >= 0)

    @property
    def sizes(self) -> Array:
        """The number of candidates in each list of the judge, repeated for each entry."""
        return np.repeat(self.asked.sum(axis=1)[:, None], self.asked.shape[1], axis=1).astype(np.float64)

    @property
    def groups(self) -> int:
        """The number of groups that the judge was asked about."""
        return len(np.unique(self.group))

    def of_members(self, values: Array) -> Array:
        """Return a profile's ``values`` (groups, members) of the frame for each entry of the lists; NaN for none."""
        found = values[self.group[:, None], np.maximum(self.members, 0)]
        return np.where(self.asked, found, np.nan)


@dataclass(frozen=True, slots=True)
class _List:
    """One list of a group: its members by column, in the order shown, with the score of each (None: failed)."""

    row: int
    columns: tuple[int, ...]
    scores: tuple[float | None, ...]
    shown: bool


def tabulate(records: Sequence[Record], frame: Frame) -> Answers:
    """Return a profile's table of ``records``, all with the same key and about groups of ``frame``.

    Raises InputError for scores without a scale, and if nothing was answered about any group of the frame.
    """
    key, kind = records[0].key, _kind(records)
    bare = [one for one in records if one.scores is not None and one.scale is None]
    if kind == "scores" and bare:
        raise InputError(
            f"{counted(len(bare), f'answer of {key.judge!r} has', f'answers of {key.judge!r} have')} scores and no "
            "scale; add 'scale': [lowest, highest]"
        )
    by_row: dict[int, list[Record]] = {}
    for one in records:
        if one.group_id in frame.row:
            by_row.setdefault(frame.row[one.group_id], []).append(one)
    lists = [found for row in sorted(by_row) for found in _lists(by_row[row], row, frame)]
    if not any(value is not None for one in lists for value in one.scores):
        raise InputError(
            f"no answer of {key.judge!r} is about a member of the groups; name the groups file it judged"
            if not any(one.columns for one in lists)
            else f"no answer of {key.judge!r} could be used: all {len(lists):,} about these groups failed"
        )
    scales = {one.scale for one in records if one.scale is not None}
    several = len(scales)
    scale = scales.pop() if several == 1 else None
    table = _as_arrays(lists, key, kind, frame, scale, sum(map(len, by_row.values())))
    off = sum(count_off_scale(one) for own in by_row.values() for one in own)
    return replace(table, off_scale=off, scales=max(several, 1))


def _kind(records: Sequence[Record]) -> Kind:
    if records[0].key.mode == "pairwise":
        return "pairs"
    ranked = any(one.ranking is not None for one in records)
    if ranked and any(one.scores is not None for one in records):
        raise InputError("some answers are rankings and some are scores; profile them separately, by prompt_variant")
    return "ranks" if ranked else "scores"


def _lists(records: Sequence[Record], row: int, frame: Frame) -> Iterator[_List]:
    columns = frame.columns[row]
    if records[0].key.mode == "pointwise":
        for call in calls_of_group(records, columns):
            scored = {name: value for one in call for name, value in _values(one).items()}
            asked = dict.fromkeys(name for one in call for name in one.order if name in columns)
            yield _List(row, tuple(columns[name] for name in asked), tuple(map(scored.get, asked)), shown=False)
        return
    for one in sorted(records, key=lambda one: (one.order, one.sample)):
        values, shown = _values(one), [name for name in one.order if name in columns]
        yield _List(row, tuple(columns[name] for name in shown), tuple(map(values.get, shown)), shown=True)


def _values(record: Record) -> dict[str, float]:
    scored = values_by_member(record, rescale=True)
    return {name: min(1.0, max(0.0, scored[name])) for name in record.order if name in scored}


def _as_arrays(
    lists: Sequence[_List], key: Key, kind: Kind, frame: Frame, scale: tuple[float, float] | None, records: int
) -> Answers:
    shape = (len(lists), max(len(one.columns) for one in lists))
    members = np.full(shape, -1, dtype=np.int64)
    scores, places = np.full(shape, np.nan), np.full(shape, np.nan)
    sets: dict[tuple[int, frozenset[int]], int] = {}
    questions: dict[tuple[int, tuple[int, ...]], int] = {}
    numbers = np.zeros((len(lists), 3), dtype=np.int64)
    for place, one in enumerate(lists):
        # Sorted by column, so that lists of the same members are aligned.
        entries = sorted(zip(one.columns, range(len(one.columns)), one.scores, strict=True))
        width = len(entries)
        members[place, :width] = [column for column, _, _ in entries]
        scores[place, :width] = [np.nan if value is None else value for _, _, value in entries]
        if one.shown:
            places[place, :width] = [position for _, position, _ in entries]
        same = (one.row, frozenset(one.columns))
        order = one.columns if one.shown else tuple(sorted(one.columns))
        asked = sets.setdefault(same, len(sets)), questions.setdefault((one.row, order), len(questions))
        numbers[place] = (one.row, *asked)
    group, members_of, question = numbers.T
    quality, gold_range = _quality(frame, np.unique(group))
    table = Answers(
        key, kind, frame, members, scores, places, scores, group, members_of, question, scale, gold_range, records
    )
    return replace(table, quality=table.of_members(quality))


def _quality(frame: Frame, rows: Numbers) -> tuple[Array, tuple[float, float] | None]:
    """Return gold mapped to 0-1 over the groups in ``rows``, and its range; all NaN if it has none or no spread."""
    known = frame.gold[rows][~np.isnan(frame.gold[rows])]
    if not len(known) or known.max() <= known.min():
        return np.full_like(frame.gold, np.nan), None
    low, high = float(known.min()), float(known.max())
    return (frame.gold - low) / (high - low), (low, high)


def pairs_of_lists(table: Answers) -> tuple[Numbers, Numbers]:
    """Return every two lists of the same members, as two arrays of their rows, for a profile's repeatability."""
    order = np.argsort(table.members_of, kind="stable")
    numbers = table.members_of[order]
    most = int(np.bincount(numbers).max(initial=1))
    firsts, seconds = [], []
    for apart in range(1, most):
        same = np.flatnonzero(numbers[:-apart] == numbers[apart:])
        firsts.append(order[same])
        seconds.append(order[same + apart])
    if not firsts:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(firsts), np.concatenate(seconds)
