"""Rows of a meta-evaluation (a completion, one criterion, and people's labels), and verdicts about them.

A row has HealthBench's schema: ``{"prompt": [messages], "completion": "...", "rubric": "...", "binary_labels": [true,
false], "category": "..."}``. Verdicts
are read from a file, or asked of a judge.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from calipers.calibration.collect import JudgeAnswers
from calipers.errors import InputError
from calipers.inputs.messages import canonical
from calipers.inputs.plain import type_in_words
from calipers.inputs.records import convert_rows, decompressed_stream, json_line_rows, read_json_lines
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.types import Criterion, Message, Rubric, Trajectory, TrajectoryGroup, TrajectoryResult

_ROW: Final = (
    '{"prompt": [...], "completion": "...", "rubric": "...", "binary_labels": [true, false], "category": "..."}'
)
_VERDICT: Final = '{"judge": "...", "line": 1, "met": true} (or "item" instead of "line")'


@dataclass(frozen=True, slots=True)
class Labelled:
    """A criterion (``rubric``) of a completion with people's labels; ``line`` is counted from 1.

    ``unit`` is an id of the
    conversation and its completion, which several rows may share.
    """

    line: int
    prompt: tuple[Message, ...]
    completion: str
    rubric: str
    labels: tuple[bool, ...]
    category: str | None = None
    unit: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", _digest([dict(one) for one in self.prompt], self.completion))

    @property
    def item(self) -> str:
        """An id of the completion and the criterion, by which a recorded verdict is assigned to its row."""
        return _digest(self.unit, self.rubric)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The verdict of ``judge`` about a row, which is identified by its ``item`` or, if that is None, by its ``line``.

    ``met`` None is a missing verdict, with a ``reason``.
    """

    judge: str
    met: bool | None
    reason: str = ""
    line: int | None = None
    item: str | None = None


def is_labelled(path: str | os.PathLike[str]) -> bool:
    """Return whether the first readable line of a file is a labelled row, not a group."""
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - closed below
    except OSError:
        return False  # reading the file reports the error
    with stream:
        lines = json_line_rows(decompressed_stream(stream))
        first = next((value for _, value in lines if isinstance(value, dict)), {})
    return "binary_labels" in first and "completion" in first


def read_labelled(
    path: str | os.PathLike[str], *, on_error: Callable[[InputError], None] | None = None
) -> Iterator[Labelled]:
    """Yield the labelled rows of a ``.jsonl`` or ``.jsonl.gz`` file, in order.

    A bad row is passed to ``on_error`` as an InputError with file, line and field, and skipped; without ``on_error``,
    it is raised.
    """
    yield from convert_rows(read_json_lines(path), as_labelled, source=os.fspath(path), on_error=on_error)


def as_labelled(value: Mapping[str, Any] | str, line: int = 1) -> Labelled:
    """Convert a row of plain data to a ``Labelled``. Raises InputError that names the field."""
    if isinstance(value, str):
        raise InputError(value)
    labels, category, prompt = (value.get(name) for name in ("binary_labels", "category", "prompt"))
    if not isinstance(labels, list) or not labels or not all(isinstance(one, bool) for one in labels):
        raise InputError(f"binary_labels: must list true or false, at least one; expected {_ROW}")
    if category is not None and not isinstance(category, str):
        raise InputError(f"category: must be text, not {type_in_words(category)}")
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    if not isinstance(prompt, list):
        raise InputError(f"prompt: must be messages or text, not {type_in_words(prompt)}; expected {_ROW}")
    completion, rubric = value.get("completion"), value.get("rubric")
    for name, text in (("completion", completion), ("rubric", rubric)):
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{name}: must be text that is not empty; expected {_ROW}")
    messages = canonical(prompt, where="prompt: ")
    texts = cast("str", completion), cast("str", rubric)
    return Labelled(line, messages, *texts, tuple(labels), category)


def _digest(*parts: object) -> str:
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def recorded_verdicts(
    verdicts: str | os.PathLike[str] | Iterable[object], *, on_error: Callable[[InputError], None]
) -> Iterator[Recorded]:
    """Yield verdicts from a ``.jsonl`` or ``.jsonl.gz`` file, or from an iterable of its objects or of Recorded.

    What cannot be read is passed to ``on_error`` and skipped.
    """
    if isinstance(verdicts, str | os.PathLike):
        rows = read_json_lines(verdicts)
        yield from convert_rows(
            rows, lambda value, _: as_recorded(value), source=os.fspath(verdicts), on_error=on_error
        )
        return
    for place, value in enumerate(verdicts, start=1):
        try:
            yield value if isinstance(value, Recorded) else as_recorded(value)
        except InputError as error:
            on_error(InputError(f"verdict {place}: {error}"))


def as_recorded(value: object) -> Recorded:
    """Return an object of a verdicts file, checked. Raises InputError."""
    if isinstance(value, str):
        raise InputError(value)
    if not isinstance(value, Mapping):
        raise InputError(f"is not an object; expected {_VERDICT}")
    judge, line, item, met = (value.get(name) for name in ("judge", "line", "item", "met"))
    if not isinstance(judge, str) or not judge:
        raise InputError(f"'judge' must be its name; expected {_VERDICT}")
    if not isinstance(item, str | None):
        raise InputError("'item' must be text")
    if isinstance(line, bool) or not isinstance(line, int | None) or (line is not None and line < 1):
        raise InputError(f"'line' is {line!r}: it must be a row's line, counted from 1")
    if line is None and item is None:
        raise InputError(f"has no row: add 'line' or 'item'; expected {_VERDICT}")
    if "met" not in value or not isinstance(met, bool | None):
        raise InputError(f"'met' must be true, false or null, not {met!r:.40}; expected {_VERDICT}")
    reason = value["reason"] if isinstance(value.get("reason"), str) else ""
    return Recorded(judge, met, reason or ("no verdict was recorded" if met is None else ""), line, item)


async def collect_verdicts(
    rows: Iterable[Labelled], judge: str | Backend, *, grading: Mapping[str, Any] | None = None, **options: Any
) -> JudgeAnswers:
    """Query ``judge``, a name or a Backend, about the criterion of each labelled row, as a run with a checklist does.

    ``options`` are those of ``Judge.of``. Rows about one completion are one group, so that ``grading={"mode": "all"}``
    puts them in one question; by default each row has a separate question, as in HealthBench. The verdicts are the
    result's ``judgments``; a missing verdict has ``met`` None and a reason. Raises ConfigError before anything is asked
    for invalid settings or a judge that cannot be reached, and later for a judge that refuses every question.
    """
    by_unit: dict[str, list[Labelled]] = {}
    for row in rows:
        by_unit.setdefault(row.unit, []).append(row)
    answers = JudgeAnswers.of(judge, "checklist")
    how = {"mode": "per_criterion", **(grading or {})}
    asking = Judge.of({"judge": judge, "protocol": "checklist", "grading": how, **options})
    try:
        await asking.check()
        async for result in asking.score_groups(_group(unit, own) for unit, own in by_unit.items()):
            await asking.require_answering()
            answers.results.append(result)
            (graded,) = result.trajectories
            answers.judgments += _verdicts(answers.judge, by_unit[result.group_id], graded)
        answers.reused = asking.store.reused
    finally:
        asking.close()
    places = {row.item: place for place, row in enumerate(row for own in by_unit.values() for row in own)}
    answers.judgments.sort(key=lambda one: (places[one["item"]], one["line"]))
    return answers


def _group(unit: str, rows: Sequence[Labelled]) -> TrajectoryGroup:
    """Return a completion as a group of one, with the rows' criteria; a criterion's id is its line."""
    rubric = Rubric(tuple(Criterion(str(row.line), row.rubric) for row in rows))
    answer = Trajectory("completion", ({"role": "assistant", "content": rows[0].completion},), rubric=rubric)
    return TrajectoryGroup(unit, (answer,), rows[0].prompt)


def _verdicts(judge: str, rows: Sequence[Labelled], graded: TrajectoryResult) -> Iterator[dict[str, Any]]:
    """Yield the judge's verdict on each row in each sample."""
    criteria: Mapping[str, Mapping[str, Any]] = graded.extra.get("criteria", {})
    for row in rows:
        verdict = criteria.get(str(row.line), {"met": None, "reason": graded.reason or "it was not asked about"})
        same = {"judge": judge, "line": row.line, "item": row.item}
        for sample, met in enumerate(verdict.get("votes", [verdict["met"]])):
            reason = verdict["reason"] or ("no verdict came" if met is None else "")
            yield {**same, "met": met, "reason": reason, "sample_index": sample}
