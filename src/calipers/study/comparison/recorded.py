"""Reads a comparison from recorded answers alone: groups, judgments, ledgers, and recorded gradings by rubrics.

Not responsible for asking (``asking``), or for figures (``figures``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from calipers.calibration.records import Key, Record
from calipers.calibration.series import Frame
from calipers.errors import InputError
from calipers.inputs import jsonl, read_groups
from calipers.study.comparison.answers import CellAnswers, Evidence, Rewritten, cells_of_records
from calipers.study.comparison.graded import Grading, as_grading, is_grading
from calipers.study.comparison.rewrites import REWRITES
from calipers.study.comparison.variants import Texts, middle_of_gold, rewritten_answers
from calipers.study.profiles.duplicates import RecordedOnce
from calipers.study.profiles.ledgers import replayed_answers
from calipers.study.profiles.sources import read_judgments_once, require_different, source_kind
from calipers.types import Trajectory, TrajectoryGroup

OnError = Callable[[InputError], None]


def read_evidence(
    paths: Sequence[Path],
    *,
    format: str | None = None,  # noqa: A002 - what people call it
    on_error: OnError | None = None,
) -> Evidence:
    """Return what recorded answers in ``paths`` hold for a comparison of judges.

    ``format`` is the reply format of judgments that are not parsed and name none. Bad lines go to ``on_error`` and are
    skipped. Raises InputError for a file of another kind, for an answer recorded twice, and without groups or answers.
    """
    groups: list[TrajectoryGroup] = []
    records: list[Record] = []
    rewritten: list[Rewritten] = []
    gradings: list[Grading] = []
    once = RecordedOnce()
    require_different(paths)
    for path in paths:
        if is_grading(_first_row(path)):
            gradings += jsonl.convert_rows(jsonl.read_json_lines(path), _grading, source=str(path), on_error=on_error)
            continue
        match source_kind(path):
            case "ledger":
                more, answers = asyncio.run(replayed_answers(path))
                for one in answers:
                    once.require(one, path, None)
                groups += more
                records += answers
            case "groups":
                groups += read_groups(str(path), on_error=on_error)
            case "judgments":
                _read_judgments(path, records, rewritten, once, format=format, on_error=on_error)
    _require_some(groups, records, rewritten, gradings)
    first = {one.group_id: one for one in reversed(groups)}
    cells = cells_of_records(records, rewritten)
    frame = Frame.of([*reversed(first.values()), *_graded_groups(gradings, first)])
    return replace(
        _evidence_of_gradings(gradings),
        frame=frame,
        cells=(*cells, *_cells_of_gradings(gradings)),
        texts=_texts(rewritten, frame.groups),
    )


def _first_row(path: Path) -> object:
    with jsonl.open_binary(path) as stream:
        line = jsonl.decompressed_stream(stream).readline(2**26)
    return jsonl.parse_json_line(line) if line.lstrip().startswith(b"{") else None


def _grading(row: Mapping[str, Any] | str, _: int) -> Grading:
    if isinstance(row, str):
        raise InputError(row)
    return as_grading(row)


def _read_judgments(
    path: Path,
    records: list[Record],
    rewritten: list[Rewritten],
    once: RecordedOnce,
    *,
    format: str | None,  # noqa: A002 - likewise
    on_error: OnError | None,
) -> None:
    """Read a file of judgments; a line with ``rewrite`` and ``rewritten`` is about a group with rewritten members."""
    for rewrite, record in read_judgments_once(path, once, format=format, on_error=on_error):
        if rewrite is None:
            records.append(record)
        else:
            rewritten.append(Rewritten(*rewrite, record))


def _require_some(
    groups: Sequence[object], records: Sequence[object], rewritten: Sequence[object], gradings: Sequence[object]
) -> None:
    if not records and not gradings:
        more = "; answers about rewrites need those about the groups as they are" if rewritten else ""
        raise InputError(f"no answers were named: add a judgments file (docs/calibration.md) or a ledger{more}")
    if not groups and not gradings:
        raise InputError("no groups were named; add the groups file that the judgments are about")


def _texts(rewritten: Iterable[Rewritten], groups: Sequence[TrajectoryGroup]) -> dict[str, Texts]:
    """Return the texts of the built-in rewrites that were recorded: the rules give the same texts again."""
    below = middle_of_gold(groups)
    found: dict[str, Texts] = {}
    for name in dict.fromkeys(one.rewrite for one in rewritten):
        rule = "confident" if name == "confident_wrong" else name
        found[name] = rewritten_answers(rule, groups, wrong_below=below) if rule in REWRITES else {}
    return found


def _evidence_of_gradings(gradings: Sequence[Grading]) -> Evidence:
    told = [one for one in gradings if one.recorded is not None]
    differing = tuple(
        f"{_judge(one)}: {one.id}: recorded {one.recorded}, computed {one.score}"
        for one in told
        if one.score != one.recorded
    )
    return Evidence(Frame.of(()), (), {}, (len(told) - len(differing), len(told)) if told else None, differing)


def _judge(one: Grading) -> str:
    return one.judge if one.temperature is None else f"{one.judge}, T={one.temperature:g}"


def _graded_groups(gradings: Iterable[Grading], known: Mapping[str, TrajectoryGroup]) -> list[TrajectoryGroup]:
    """Return a group of one answer for each grading's answer."""
    found: dict[str, TrajectoryGroup] = {}
    for one in gradings:
        if one.id not in known and one.id not in found:
            messages = ({"role": "assistant", "content": one.response},) if one.response.strip() else ()
            context = ({"role": "user", "content": one.prompt},) if one.prompt.strip() else ()
            found[one.id] = TrajectoryGroup(one.id, (Trajectory(one.id, messages),), context)
    return list(found.values())


def _cells_of_gradings(gradings: Iterable[Grading]) -> list[CellAnswers]:
    found: dict[str, CellAnswers] = {}
    samples: dict[tuple[str, str], int] = {}
    for one in gradings:
        key = Key(one.judge, "pointwise", None, one.temperature, None)
        cell = found.setdefault(_judge(one), CellAnswers(_judge(one), key, one.judge))
        sample = samples.setdefault((_judge(one), one.id), -1) + 1
        samples[_judge(one), one.id] = sample
        scores = None if one.score is None else {one.id: one.score}
        cell.records.append(Record(one.id, key, (one.id,), sample, scores=scores, scale=(0.0, 1.0)))
        graded = {(f"{one.id}: {name}", one.id, one.id): met for name, met in one.verdicts.items()}
        cell.verdicts = {**cell.verdicts, **graded}
    return list(found.values())
