"""Records as arrays: for each judge and kind of question, the score of every call for every member of every group.

A *call* is one record; records about other members of a group in the same sample belong to one call. Missing values are
NaN throughout, never a number.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np

from calipers.aggregators.bradley_terry import BradleyTerry
from calipers.aggregators.pair_bias import PairVerdict
from calipers.aggregators.position_bias import PositionBias
from calipers.aggregators.two_way import two_way
from calipers.calibration import measures
from calipers.calibration.measures import Array, Counts, Flags, mean_of_known
from calipers.calibration.records import NOTHING, TIE, Cost, Key, Record
from calipers.errors import InputError
from calipers.rewards.win_rate import win_rates
from calipers.types import Comparison, Rating, TrajectoryGroup
from calipers.types.encoding import LARGEST

State: TypeAlias = Literal["answered", "abstained", "failed"]
_CURVE: Final = (*range(1, 9), 12, 16, 24, 32, 48, 64)
"""Numbers of calls at which fidelity is measured, besides that of all recorded calls."""
_SIGNS: Final[Mapping[PairVerdict, float]] = {"first": 1.0, "second": -1.0, "tie": 0.0}


@dataclass(frozen=True, slots=True)
class Frame:
    """The groups as a table: ``row`` of a group, ``columns`` of its members, and ``gold`` (groups, members; NaN
    unknown).
    """

    groups: tuple[TrajectoryGroup, ...]
    row: Mapping[str, int]
    columns: tuple[Mapping[str, int], ...]
    gold: Array

    @classmethod
    def of(cls, groups: Iterable[TrajectoryGroup]) -> Frame:
        """Return the frame over all groups, as wide as the largest. Raises InputError for gold beyond ±1e100."""
        every = tuple(groups)
        columns = tuple({member.id: place for place, member in enumerate(group.trajectories)} for group in every)
        gold = np.full((len(every), max(map(len, columns), default=0)), np.nan)
        for row, group in enumerate(every):
            for column, member in enumerate(group.trajectories):
                if member.gold is not None and abs(member.gold) > LARGEST:
                    raise InputError(f"group {group.group_id!r}: the gold {member.gold:g} is too large to compute with")
                gold[row, column] = math.nan if member.gold is None else member.gold
        return cls(every, {group.group_id: row for row, group in enumerate(every)}, columns, gold)


@dataclass(frozen=True, slots=True)
class Places:
    """The position bias of a judge's lists.

    ``curve`` is what each position adds to a score, first to last, 0 on average, learned as in a run; None if unknown,
    as below 20 groups in several orders. ``turned`` is the number of groups in several orders. ``share`` is the share
    of variance within lists that the position explains (None without variance, or below six lists); it is also high if
    members are listed by quality, in one order only.
    """

    curve: tuple[float, ...] | None
    turned: int
    share: float | None


@dataclass(frozen=True, slots=True)
class Series:
    """A judge's calls. ``rows`` are its groups in the frame; ``calls`` has the shape (groups, calls, members).

    ``depth`` is each group's number of calls (later calls are NaN), ``asked`` the number of members asked about, and
    ``answered`` the number of those with a readable answer. ``meetings`` are the comparisons of each group and call, if
    pairs of larger groups were judged; scores then come from Bradley-Terry over all calls together. ``swapped`` counts
    pairs judged in both orders, and those of them whose verdict changed; ``repeated`` pairs judged twice in one order,
    and those with equal verdicts; ``verdicts`` counts all verdicts by position. ``places`` is the position bias of its
    lists. ``states`` says for each group whether anything was read, or why not.
    """

    key: Key
    rows: tuple[int, ...]
    calls: Array
    depth: tuple[int, ...]
    records: int
    asked: int
    answered: int
    meetings: tuple[tuple[tuple[Comparison, ...], ...], ...] = ()
    swapped: tuple[int, int] = (0, 0)
    repeated: tuple[int, int] = (0, 0)
    verdicts: Mapping[PairVerdict, int] = field(default_factory=dict)
    cost: Cost = NOTHING
    places: Places | None = None
    states: tuple[State, ...] = ()

    @property
    def presentation(self) -> Cost:
        """The mean cost of a call about a group."""
        return self.cost.times(1 / sum(self.depth))

    @property
    def most(self) -> int:
        """The largest number of calls of any group."""
        return int(self.calls.shape[1])

    @property
    def shared(self) -> bool:
        """Whether one answer rates all members, so that its mean is no noise."""
        return self.key.mode != "pointwise"

    @property
    def tells_apart(self) -> bool:
        """Whether any call gives two members of a group different scores."""
        return bool(measures.measurable_groups(self.calls, self.calls).any())

    def on_frame(self, by_group: Array, frame: Frame) -> Array:
        """Return an array over this series' groups as one over all groups of the frame, NaN for the others."""
        spread = np.full((len(frame.groups), *by_group.shape[1:]), np.nan)
        spread[list(self.rows)] = by_group
        return spread

    def calls_in(self, groups: Flags, frame: Frame) -> tuple[Array, Counts]:
        """Return calls and depth in the ``groups`` of the frame, all of which the judge was asked about."""
        depth = self.on_frame(np.array(self.depth), frame)[groups]
        return self.on_frame(self.calls, frame)[groups], depth.astype(np.int64)

    def gold(self, frame: Frame) -> Array:
        """Return the gold of this series' groups."""
        return frame.gold[list(self.rows)]

    def scores(self, start: int, count: int) -> Array:
        """Return scores (groups, members) from ``count`` successive calls of each group, cyclically from ``start``.

        Ratings are averaged. If some lists lack candidates, differences in level between lists are removed first.
        Rankings are averaged by rank. Comparisons of larger groups are fitted by Bradley-Terry. A group with fewer
        calls contributes all its calls.
        """
        depth = np.array(self.depth)
        picked = window(self.calls, depth, start, count)
        means = mean_of_known(picked, axis=1)
        if self.meetings:
            for row, meetings in enumerate(self.meetings):
                chosen = {(start + step) % len(meetings) for step in range(count)}
                compared = [comparison for call in chosen for comparison in meetings[call]]
                rates = win_rates(BradleyTerry()(compared, means.shape[1]))
                means[row] = [math.nan if rate is None else rate for rate in rates]
        elif self.key.mode == "listwise":
            _remove_list_effects(means, picked)
        return means


def window(calls: Array, depth: Counts, start: int, count: int) -> Array:
    """Return ``count`` successive calls (groups, calls, members), cyclically within each group's ``depth`` calls.

    A group with fewer calls has NaN in place of the others.
    """
    step = np.arange(count)[None, :]
    picked = np.take_along_axis(calls, ((start + step) % depth[:, None])[:, :, None], axis=1)
    return np.where((step < depth[:, None])[:, :, None], picked, np.nan)


def fidelity_over_windows(series: Series, gold: Array, count: int) -> tuple[Array, Array]:
    """Return each group's fidelity to gold from ``count`` calls, the mean over cyclic windows of the group's calls.

    First of the members with a score, then of all: the others have the mean score, as if their advantage were 0.
    """
    starts = np.arange(series.most if count < series.most else 1)
    asked = starts[:, None] < np.array(series.depth)[None, :]
    scores = [series.scores(int(start), count) for start in starts]
    filled = [np.where(np.isnan(one), np.nan_to_num(mean_of_known(one, axis=1))[:, None], one) for one in scores]
    levels = (np.array([measures.fidelity(one, gold) for one in kind]) for kind in (scores, filled))
    known, whole = (mean_of_known(np.where(asked, level, np.nan), axis=0) for level in levels)
    return known, whole


def fidelity_curve(series: Series, gold: Array) -> dict[int, tuple[Array, Array]]:
    """Return what ``fidelity_over_windows`` does by number of calls; the last number is that of all calls."""
    counts = sorted({*(count for count in _CURVE if count < series.most), series.most})
    return {count: fidelity_over_windows(series, gold, count) for count in counts}


def _remove_list_effects(means: Array, picked: Array) -> None:
    """Correct mean ratings for lists that omit members of their group: a generous list must not favour its members.

    ``means`` (groups, members) has the mean ratings and is changed in place; ``picked`` has the shape (groups, calls,
    members). A group's mean is arbitrary.
    """
    known = ~np.isnan(picked)
    full = known.any(axis=1, keepdims=True) & known.any(axis=2, keepdims=True)
    for row in np.flatnonzero((known != full).reshape(len(known), -1).any(axis=1)):
        ratings = [
            Rating(int(item), float(picked[row, call, item]), int(call)) for call, item in np.argwhere(known[row])
        ]
        means[row] = [math.nan if value is None else value for value in two_way(ratings, means.shape[1]).values]


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of judgments used, of records and groups that are not in GROUPS, of ids that are no member, and of
    answers that are there twice.
    """

    used: int
    foreign_records: int
    foreign_groups: int
    unknown_members: int
    copies: int = 0


def build_series(records: Iterable[Record], frame: Frame) -> tuple[list[Series], Tally]:
    """Return the series of all judges' recorded answers, sorted by key, and counts of the unused records.

    Answers that are there twice count once.
    """
    by_key: dict[Key, list[Record]] = defaultdict(list)
    foreign: Counter[str] = Counter()
    unknown = 0
    for record in records:
        row = frame.row.get(record.group_id)
        if row is None:
            foreign[record.group_id] += 1
            continue
        unknown += sum(name not in frame.columns[row] for name in record.order)
        by_key[record.key].append(record)
    series = [_series(key, _without_copies(by_key[key]), frame) for key in sorted(by_key, key=_sort_key)]
    used = sum(judge_series.records for judge_series in series)
    copies = sum(map(len, by_key.values())) - used
    return series, Tally(used, foreign.total(), len(foreign), unknown, copies)


def _sort_key(key: Key) -> tuple[str, ...]:
    return tuple(map(str, (key.judge, key.mode, key.prompt_variant or "", key.temperature or 0.0)))


def _without_copies(records: Sequence[Record]) -> list[Record]:
    """Return the records of one judge and kind of question without answers that are there twice.

    Equal answers with one sample index are copies. Without indexes they are repeats, unless no question got two
    different answers: a copied file would make the judge look repeatable.
    """
    answers: dict[Hashable, set[Hashable]] = defaultdict(set)
    for record in records:
        if not record.numbered:
            answers[_question(record)].add(_answer(record))
    steady = all(len(answer) == 1 for answer in answers.values())
    kept: dict[Hashable, Record] = {}
    for place, record in enumerate(records):
        repeat = None if record.numbered or steady else place
        kept.setdefault((_question(record), _answer(record), repeat), record)
    return list(kept.values())


def _question(record: Record) -> Hashable:
    return record.group_id, record.order, record.sample, record.numbered


def _answer(record: Record) -> Hashable:
    """Return what a judge answered. Its price is not part of it: an answer from a ledger may be priced anew."""
    scores = None if record.scores is None else tuple(sorted(record.scores.items()))
    verdict = scores, record.winner, record.ranking, record.margin, record.scale, record.status
    return verdict, record.cost.input_tokens, record.cost.output_tokens


def _series(key: Key, every: Sequence[Record], frame: Frame) -> Series:
    by_row: dict[int, list[Record]] = defaultdict(list)
    for record in every:
        by_row[frame.row[record.group_id]].append(record)
    rows = tuple(sorted(by_row))
    calls = [calls_of_group(by_row[row], frame.columns[row]) for row in rows]
    rescale = len({record.scale for record in every if record.scores is not None}) > 1
    values = np.full((len(rows), max(map(len, calls)), frame.gold.shape[1]), np.nan)
    for place, row in enumerate(rows):
        for number, records in enumerate(calls[place]):
            values[place, number] = _values(records, frame.columns[row], values.shape[2], rescale=rescale)
    pairs = key.mode == "pairwise"
    many = pairs and any(len(frame.columns[row]) > 2 for row in rows)
    swapped, repeated = _pairs_again(by_row.values()) if pairs else ((0, 0), (0, 0))
    return Series(
        key,
        rows,
        values,
        tuple(map(len, calls)),
        records=len(every),
        asked=sum(len(record.order) for record in every),
        answered=sum(map(_answered, every)),
        meetings=tuple(_meetings(calls[place], frame.columns[row]) for place, row in enumerate(rows)) if many else (),
        swapped=swapped,
        repeated=repeated,
        verdicts=Counter(verdict for record in every if (verdict := _pair_verdict(record)) is not None),
        cost=Cost.total(record.cost for record in every),
        places=_places(calls, [frame.columns[row] for row in rows], rescale=rescale)
        if key.mode == "listwise"
        else None,
        states=tuple(_state(by_row[row]) for row in rows),
    )


def _state(records: Sequence[Record]) -> State:
    if any(map(_answered, records)):
        return "answered"
    return "failed" if any(record.status == "failed" for record in records) else "abstained"


def _places(
    calls: Sequence[Sequence[Sequence[Record]]], columns: Sequence[Mapping[str, int]], *, rescale: bool
) -> Places:
    """Return the position bias over every list of scores; each list is a separate presentation."""
    every, turned, sizes = [], 0, [0]
    by_place: dict[int, list[float]] = defaultdict(list)
    for groups, known in zip(calls, columns, strict=True):
        lists = []
        for presentation, record in enumerate(itertools.chain.from_iterable(groups)):
            values = values_by_member(record, rescale=rescale) if record.scores is not None and record.ordered else {}
            places = [(name, place) for place, name in enumerate(record.order) if name in values and name in known]
            mean = statistics.fmean(values[name] for name, _ in places) if places else 0.0
            for name, place in places:
                by_place[place].append(values[name] - mean)
            lists.append([Rating(known[name], values[name], presentation, place) for name, place in places])
        lists = [ratings for ratings in lists if ratings]
        turned += len({tuple(rating.item for rating in ratings) for ratings in lists}) > 1
        sizes += map(len, lists)
        every.append([rating for ratings in lists for rating in ratings])
    total = sum(value**2 for offs in by_place.values() for value in offs)
    between = sum(len(offs) * statistics.fmean(offs) ** 2 for offs in by_place.values())
    bias = PositionBias.learn(every)
    curve = None if bias is None else bias.curve(statistics.median_low(sizes[1:] or sizes))
    return Places(curve, turned, between / total if total > 1e-12 and len(sizes) > measures.FEWEST else None)


def calls_of_group(records: Sequence[Record], columns: Mapping[str, int]) -> list[list[Record]]:
    """Return a group's records as calls: divided by sample, and in a sample by how often members were asked about.

    If pairs were asked in both orders, each call has every member first about as often as second, so that the order
    favours no member, as in a run that asks one order.
    """
    ordered = sorted(records, key=lambda record: (record.sample, _is_reversed(record, columns), record.order))
    seen: Counter[tuple[int, frozenset[str]]] = Counter()
    calls: dict[tuple[int, int], list[Record]] = {}
    for record in ordered:
        question = (record.sample, frozenset(record.order))
        calls.setdefault((record.sample, seen[question]), []).append(record)
        seen[question] += 1
    return [calls[number] for number in sorted(calls)]


def _is_reversed(record: Record, columns: Mapping[str, int]) -> bool:
    """Return whether a pair is not in round-table order, in which the nearer clockwise neighbour is second."""
    if len(record.order) != 2 or not all(name in columns for name in record.order):
        return False
    first, second = (columns[name] for name in record.order)
    ahead = (second - first) % len(columns)
    return ahead * 2 > len(columns) or (ahead * 2 == len(columns) and first % 2 == 1)


def _values(records: Sequence[Record], columns: Mapping[str, int], width: int, *, rescale: bool) -> Array:
    """Return one call's value per member: the mean over its records."""
    total, count = np.zeros(width), np.zeros(width)
    for record in records:
        for name, value in values_by_member(record, rescale=rescale).items():
            if name in columns and name in record.order:
                total[columns[name]] += value
                count[columns[name]] += 1
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def values_by_member(record: Record, *, rescale: bool) -> Mapping[str, float]:
    """Return a record's value per member.

    Values are ratings (with ``rescale`` converted to 0-1 from their own scale), 0.5 ± half the margin for comparisons,
    and 1 (best) to 0 for ranks.
    """
    if record.scores is not None:
        if not rescale:
            return record.scores
        if record.scale is None:
            return {}
        low, high = record.scale
        return {name: (value - low) / (high - low) for name, value in record.scores.items()}
    if record.winner is not None:
        edge = 0.0 if record.winner == TIE else record.margin / 2
        return {name: 0.5 + (edge if name == record.winner else -edge) for name in record.order}
    if record.ranking is not None:
        steps = max(len(record.order) - 1, 1)
        return {name: 1 - place / steps for place, name in enumerate(record.ranking)}
    return {}


def _answered(record: Record) -> int:
    return sum(name in record.order for name in values_by_member(record, rescale=False))


def _pair_verdict(record: Record) -> PairVerdict | None:
    """Return a pair's verdict by position; None if there is no winner and no tie."""
    if record.winner is None:
        return None
    return "tie" if record.winner == TIE else "first" if record.winner == record.order[0] else "second"


def _pairs_again(groups: Iterable[Sequence[Record]]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return how many pairs were judged in both orders, and changed; and again in the same order, and were equal."""
    swapped = repeated = (0, 0)
    for records in groups:
        by_order: dict[tuple[str, ...], list[PairVerdict]] = defaultdict(list)
        for record in sorted(records, key=lambda record: record.sample):
            if (verdict := _pair_verdict(record)) is not None:
                by_order[record.order].append(verdict)
        for (first, second), verdicts in list(by_order.items()):
            again = [earlier == later for earlier, later in itertools.combinations(verdicts, 2)]
            repeated = (repeated[0] + len(again), repeated[1] + sum(again))
            there = zip(verdicts, by_order.get((second, first), []) if first < second else (), strict=False)
            changed = [_SIGNS[forwards] != -_SIGNS[backwards] for forwards, backwards in there]
            swapped = (swapped[0] + len(changed), swapped[1] + sum(changed))
    return swapped, repeated


def _meetings(calls: Sequence[Sequence[Record]], columns: Mapping[str, int]) -> tuple[tuple[Comparison, ...], ...]:
    return tuple(
        tuple(
            Comparison(columns[record.order[0]], columns[record.order[1]], _SIGNS[verdict] * record.margin, number)
            for record in records
            if (verdict := _pair_verdict(record)) is not None and all(name in columns for name in record.order)
        )
        for number, records in enumerate(calls)
    )
