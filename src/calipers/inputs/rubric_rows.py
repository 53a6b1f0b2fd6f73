"""Read data sets with a rubric in each row from JSON lines or Parquet: ``read_rubrics``.

``rubric.dataset_standards`` finds the rubric in a row: HealthBench's rows, RuscaRL's verl rows, Rubrics as Rewards,
and question lists as in AdvancedIF.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calipers.errors import ConfigError, InputError
from calipers.inputs import jsonl, parquet
from calipers.inputs.messages import canonical
from calipers.inputs.standards import plain_row
from calipers.rubric.dataset_criteria import Pitfalls, row_prompt
from calipers.rubric.dataset_standards import ground_truth_object, parse_json_text, read_standards
from calipers.types import Message, Rubric

_ID_KEYS = ("prompt_id", "id", "key", "sample_id", "task_id", "index")
_SHAPE = (
    "a row has 'rubrics' (HealthBench), 'reward_model' or 'extra_info' with rubrics (verl), a 'rubric' list of "
    "description and weight (RaR), 'ground_truth' with query and rubrics (DR Tulu), 'rubric_items' (HealthBench "
    "Professional), or 'prompt_metadata' with questions (AdvancedIF); write others as 'rubrics': "
    '[{"text": "Says why.", "points": 3}]'
)


@dataclass(frozen=True, slots=True)
class RubricRow:
    """A row of a data set: its 1-based number, id, prompt and rubric, and the row's other fields as ``extra``."""

    row: int
    id: str
    prompt: tuple[Message, ...]
    rubric: Rubric
    extra: Mapping[str, Any] = field(default_factory=dict)


def read_rubrics(
    path: str | os.PathLike[str],
    *,
    pitfalls: Pitfalls = "penalty",
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[RubricRow]:
    """Read the rows of a data set file (``.jsonl``, ``.jsonl.gz`` or ``.parquet``) with their rubrics, in order.

    ``pitfalls`` selects how Rubrics-as-Rewards pitfalls are read. "penalty" uses the file's negative weights: a pitfall
    that is met costs points. "positive" follows the paper, where every criterion is phrased as something desired and
    has the positive weight of its label.

    A bad row (or a prompt that repeats with another rubric) goes to ``on_error`` as an InputError naming file, row and
    field, and is skipped; without ``on_error``, the error is raised.
    """
    seen: dict[str, tuple[int, Rubric]] = {}

    def read(value: Mapping[str, Any] | str, number: int) -> RubricRow:
        if isinstance(value, str):  # an unreadable line: the value says what is wrong with it
            raise InputError(value)
        row = as_rubric_row(value, number, pitfalls=pitfalls)
        _check_repeat(row, seen)
        return row

    file = Path(path)
    lines = parquet.parquet_rows(file) if file.suffix == ".parquet" else jsonl.read_json_lines(file)
    return jsonl.convert_rows(lines, read, source=os.fspath(path), on_error=on_error)


def as_rubric_row(value: Mapping[str, Any], number: int = 1, *, pitfalls: Pitfalls = "penalty") -> RubricRow:
    """Convert one row of a foreign data set to a row with its rubric. ``value`` may hold numpy arrays and tuples.

    Raises InputError or ConfigError naming the field.
    """
    if pitfalls not in ("penalty", "positive"):
        raise ConfigError(f"pitfalls={pitfalls!r}: it must be penalty or positive")
    row = plain_row(value)
    rubric = read_standards(row, pitfalls=pitfalls).rubric
    if not isinstance(rubric, Rubric):
        raise InputError(f"no rubric with criteria is in the fields {', '.join(map(str, row)) or 'none'}; {_SHAPE}")
    name = next((str(row[key]) for key in _ID_KEYS if row.get(key) is not None), str(number))
    extra = {key: item for key, item in row.items() if key not in {"prompt", "rubrics", "rubric"}}
    return RubricRow(number, name, _prompt(row), rubric, extra)


def _prompt(row: Mapping[str, Any]) -> tuple[Message, ...]:
    if row.get("conversation_history") or "prompt_metadata" in row:
        prompt = parse_json_text(row.get("conversation_history") or row.get("prompt"), "conversation_history")
    else:
        inner = parse_json_text(row.get("extra_info"), "extra_info")
        prompt = row.get("prompt") or (inner.get("prompt") if isinstance(inner, Mapping) else None)
        prompt = prompt or row.get("question") or row_prompt(row) or row_prompt(_truth(row))
    if prompt is None:
        return ()
    if isinstance(prompt, str):
        return ({"role": "user", "content": prompt},)
    return canonical(prompt, where="prompt: ")


def _truth(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the row's ground truth if it is an object: DR Tulu's has the ``query``."""
    return ground_truth_object(row.get("ground_truth")) or {}


def _check_repeat(row: RubricRow, seen: dict[str, tuple[int, Rubric]]) -> None:
    """Raise InputError for a prompt that repeats with another rubric: it would be graded in two ways."""
    if not row.prompt:
        return
    first, rubric = seen.setdefault(json.dumps(row.prompt, sort_keys=True, default=str), (row.row, row.rubric))
    if rubric != row.rubric:
        raise InputError(
            f"prompt: the same as in row {first}, with another rubric; merge the two, or give them different prompts"
        )
