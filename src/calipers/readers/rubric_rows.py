"""``read_rubrics``: data sets with a rubric in each row, in the forms that are in use.

HealthBench's JSON lines, RuscaRL's verl rows (three forms of tags), Rubrics as Rewards, and question lists as in
AdvancedIF, from JSON lines or Parquet. Not responsible for checking rubrics (``rubric.criteria``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.readers import jsonl, parquet
from calipers.readers.messages import canonical
from calipers.readers.plain import kind_of, plain
from calipers.rubric.dataset_criteria import Pitfalls, rar_criterion
from calipers.rubric.standards import as_standard, standards_in, unpacked
from calipers.types import Criterion, Message, Rubric

Form: TypeAlias = Literal["healthbench", "verl", "rar", "questions"]

_ID_KEYS = ("prompt_id", "id", "key")
_SHAPE = (
    "a row has 'rubrics' (HealthBench), 'reward_model' or 'extra_info' with rubrics (verl), a 'rubric' list of "
    "description and weight (RaR), or 'prompt_metadata' with questions (AdvancedIF)"
)


@dataclass(frozen=True, slots=True)
class RubricRow:
    """One row: its 1-based number, id, prompt and rubric. ``extra`` holds the row's other fields (a reference, say)."""

    row: int
    id: str
    prompt: tuple[Message, ...]
    rubric: Rubric
    extra: Mapping[str, Any] = field(default_factory=dict)


def read_rubrics(
    path: str | os.PathLike[str],
    *,
    form: Form | None = None,
    pitfalls: Pitfalls = "penalty",
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[RubricRow]:
    """The rows of a ``.jsonl``, ``.jsonl.gz`` or ``.parquet`` file with their rubrics, in order.

    ``form`` is detected from a row's fields if it is not given. ``pitfalls`` says how Rubrics-as-Rewards pitfalls are
    read: "penalty" keeps the file's negative weights (met costs points), "positive" follows the paper, where every
    criterion is phrased as something desired and has the positive weight of its label.

    A bad row (and a prompt that repeats with another rubric) goes to ``on_error`` as an InputError naming file, row and
    field, and is skipped; without ``on_error`` it is raised.
    """
    source = os.fspath(path)
    seen: dict[str, tuple[int, Rubric]] = {}
    for number, value in _rows(Path(source)):
        try:
            row = _row(value, number, form, pitfalls)
            _check_repeat(row, seen)
        except (InputError, ConfigError) as error:
            placed = InputError(str(error), source=source, line=number)
            if on_error is None:
                raise placed from None
            on_error(placed)
        else:
            yield row


def as_rubric_row(
    value: Mapping[str, Any], number: int = 1, *, form: Form | None = None, pitfalls: Pitfalls = "penalty"
) -> RubricRow:
    """One row of a data set and its rubric. ``value`` may hold numpy arrays and tuples.

    Raises InputError or ConfigError naming the field.
    """
    if pitfalls not in ("penalty", "positive"):
        raise ConfigError(f"pitfalls={pitfalls!r}: it must be penalty or positive")
    row = parquet.without_empty(plain(value))
    kind = form or _form_of(row)
    match kind:
        case "healthbench":
            field_name, listed, prompt = "rubrics", row.get("rubrics"), row.get("prompt")
        case "verl":
            field_name, listed = _verl_rubrics(row)
            prompt = row.get("prompt") or _within(row, "extra_info").get("prompt")
        case "rar":
            field_name, listed, prompt = "rubric", _rar(row.get("rubric"), pitfalls), row.get("question")
        case "questions":
            field_name, listed = _questions(row)
            prompt = unpacked(row.get("conversation_history") or row.get("prompt"), "conversation_history")
        case _:
            raise ConfigError(f"form={kind!r}: it must be healthbench, verl, rar or questions")
    listed = unpacked(listed, field_name)
    if not isinstance(listed, list | Rubric):
        raise InputError(f"{field_name}: it must be a list of criteria, not {kind_of(listed)}; {_SHAPE}")
    rubric = as_standard(listed, field_name, pitfalls=pitfalls)
    assert isinstance(rubric, Rubric)  # noqa: S101 - it is no text
    name = next((str(row[key]) for key in _ID_KEYS if row.get(key) is not None), str(number))
    extra = {key: item for key, item in row.items() if key not in {"prompt", "rubrics", "rubric"}}
    return RubricRow(number, name, _messages(prompt), rubric, extra)


def _row(value: Mapping[str, Any] | str, number: int, form: Form | None, pitfalls: Pitfalls) -> RubricRow:
    if isinstance(value, str):  # the problem of the line
        raise InputError(value)
    return as_rubric_row(value, number, form=form, pitfalls=pitfalls)


def _rows(path: Path) -> Iterator[jsonl.Row]:
    if not path.exists():
        raise InputError("there is no such file", source=str(path))
    if path.suffix == ".parquet":
        yield from parquet.table_rows(path)
        return
    with path.open("rb") as stream:
        yield from jsonl.rows(jsonl.uncompressed(stream))


def _form_of(row: Mapping[str, Any]) -> Form:
    if "rubrics" in row and "prompt" in row:
        return "healthbench"
    if "prompt_metadata" in row or "rubrics" in row:
        return "questions"
    if isinstance(row.get("rubric"), list | str):
        return "rar"
    if _within(row, "reward_model") or _within(_within(row, "extra_info"), "reward_model"):
        return "verl"
    raise InputError(f"no rubric is found in the fields {', '.join(map(str, row)) or 'none'}; {_SHAPE}")


def _verl_rubrics(row: Mapping[str, Any]) -> tuple[str, Any]:
    """The criteria, wherever the row holds them, and their place; two that differ are an error."""
    stated = standards_in({key: row[key] for key in ("extra_info", "reward_model") if key in row})
    if isinstance(stated.rubric, Rubric):
        return stated.rubric_place, stated.rubric
    return "reward_model.rubrics", stated.rubric


def _rar(listed: Any, pitfalls: Pitfalls) -> list[Criterion]:
    listed = unpacked(listed, "rubric")
    if not isinstance(listed, list):
        raise InputError(f"rubric: it must be a list of criteria, not {kind_of(listed)}")
    try:
        return [rar_criterion(one, place, pitfalls) for place, one in enumerate(listed, start=1)]
    except (ConfigError, InputError) as error:
        raise InputError(f"rubric: {error}") from None


def _questions(row: Mapping[str, Any]) -> tuple[str, Any]:
    if "prompt_metadata" not in row:
        return "rubrics", row.get("rubrics")
    metadata = unpacked(row["prompt_metadata"], "prompt_metadata")
    if not isinstance(metadata, Mapping):
        raise InputError(f"prompt_metadata: it must be an object, not {kind_of(metadata)}")
    return "prompt_metadata.rubrics", metadata.get("rubrics")


def _messages(prompt: Any) -> tuple[Message, ...]:
    if prompt is None:
        return ()
    if isinstance(prompt, str):
        return ({"role": "user", "content": prompt},)
    return canonical(prompt, where="prompt: ")


def _within(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = unpacked(row.get(key), key)
    return value if isinstance(value, Mapping) else {}


def _check_repeat(row: RubricRow, seen: dict[str, tuple[int, Rubric]]) -> None:
    """Refuse a prompt that repeats with another rubric: it would be graded in two ways without notice."""
    if not row.prompt:
        return
    first, rubric = seen.setdefault(json.dumps(row.prompt, sort_keys=True, default=str), (row.row, row.rubric))
    if rubric != row.rubric:
        raise InputError(
            f"prompt: the same as in row {first}, with another rubric; merge the two, or give them different prompts"
        )
