"""The answers of a comparison: for each judge and way to ask it, those about groups, and those about their rewrites.

Not responsible for asking (``asking``), for files (``recorded``), or for figures (``figures``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from calipers.calibration.costs import NOTHING, Cost, total_cost
from calipers.calibration.records import Key, Record
from calipers.calibration.series import Frame, values_by_member
from calipers.study.comparison.variants import Texts
from calipers.study.profiles.sources import merged_criteria

Verdicts = Mapping[tuple[str, str, str], float]
"""Scores of criteria (0-1; of verdicts, 0 or 1) by criterion, group id and trajectory id."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Answers of a judge in a comparison about groups in which the members in ``ids`` were rewritten by ``rewrite``."""

    rewrite: str
    ids: frozenset[str]
    record: Record


@dataclass(slots=True)
class CellAnswers:
    """All answers of one cell of a comparison.

    ``records`` are about the groups as they are, ``rewritten`` about groups with rewritten members, and ``verdicts``
    are those on criteria. ``cost`` is that of the former, ``rewritten_cost`` that of the others. ``failed`` says why
    there are no answers, or why there are no more; ``unscored`` is the most frequent reason of answers without a score.
    """

    name: str
    key: Key
    model: str = ""
    records: list[Record] = field(default_factory=list)
    rewritten: list[Rewritten] = field(default_factory=list)
    verdicts: Verdicts = field(default_factory=dict)
    cost: Cost = NOTHING
    rewritten_cost: Cost = NOTHING
    failed: str | None = None
    unscored: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a comparison rests on: its groups as a table, the cells' answers, and the rewritten answers.

    ``reproduced`` counts scores that were computed from recorded raw text and are equal to the recorded scores, of all
    that were recorded; None if none were. ``differing`` names those that are not equal.
    """

    frame: Frame
    cells: tuple[CellAnswers, ...]
    texts: Mapping[str, Texts]
    reproduced: tuple[int, int] | None = None
    differing: tuple[str, ...] = ()


def described(key: Key) -> str:
    """Return the name of a comparison's cell that is known by its ``key`` only."""
    parts = (key.mode if key.mode != "listwise" else None, key.prompt_variant)
    at = None if key.temperature is None else f"T={key.temperature:g}"
    return ", ".join(filter(None, (key.judge, *parts, at)))


def cells_of_records(records: Iterable[Record], rewritten: Iterable[Rewritten]) -> list[CellAnswers]:
    """Return a comparison's cells for recorded answers, one for each judge and kind of question.

    Answers about criteria are verdicts; where a judge has no answers about the whole, the mean over all criteria is
    its score.
    """
    found: dict[Key, CellAnswers] = {}
    parts: dict[Key, list[Record]] = {}
    for one in records:
        key = replace(one.key, criterion=None)
        cell = found.setdefault(key, CellAnswers(described(key), key, key.judge))
        (cell.records if one.key.criterion is None else parts.setdefault(key, [])).append(one)
    for key, own in parts.items():
        cell = found[key]
        cell.verdicts = verdicts_of(own)
        cell.records = cell.records or merged_criteria(own)
        cell.cost = total_cost(one.cost for one in own)
    for other in rewritten:
        key = replace(other.record.key, criterion=None)
        if key in found and other.record.key.criterion is None:
            found[key].rewritten.append(other)
    for key, cell in found.items():
        if key not in parts:
            cell.cost = total_cost(one.cost for one in cell.records)
        cell.rewritten_cost = total_cost(one.record.cost for one in cell.rewritten)
    return list(found.values())


def verdicts_of(records: Iterable[Record]) -> dict[tuple[str, str, str], float]:
    """Return a comparison's scores of criteria: means over the answers about the same criterion and answer."""
    every: dict[tuple[str, str, str], list[float]] = {}
    for one in records:
        for member, value in values_by_member(one, rescale=True).items():
            every.setdefault((one.key.criterion or "", one.group_id, member), []).append(value)
    return {place: sum(values) / len(values) for place, values in every.items()}
