"""Read rubrics that people wrote in TOML, JSON or YAML (``read_rubric``), grader prompts, and data sets with a rubric
in each row (``read_rubrics``).
"""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.inputs.groups import prompt_messages
from calipers.inputs.plain import MAX_DEPTH, plain_data
from calipers.inputs.records import convert_rows, open_binary, parquet_rows, read_json_lines, without_empty_fields
from calipers.rubric import as_rubric
from calipers.rubric.dataset_criteria import Pitfalls
from calipers.rubric.dataset_standards import READ_KEYS, read_standards
from calipers.rubric.grader_prompt import require_grader_prompt
from calipers.types import Message, Rubric

SUFFIXES = (".toml", ".json", ".yaml", ".yml")
_INSTALL = "reading YAML needs PyYAML: pip install 'calipers[yaml]', or write the rubric as TOML"


def read_rubric(path: str | os.PathLike[str]) -> Rubric:
    """Read the rubric in a file: ``.toml``, ``.json``, ``.yaml`` or ``.yml``.

    The file holds a table with ``criteria``, or (not in TOML) a list of criteria, which are tables or plain questions.
    Raises InputError naming the file, the criterion and the field that cannot be read; ConfigError for YAML without
    PyYAML, and for a file of another kind.
    """
    file = Path(path)
    text, kind = _text(file), file.suffix[1:].upper().replace("YML", "YAML")
    if file.suffix not in SUFFIXES:
        raise ConfigError(f"{file}: a rubric with criteria is a file named {', '.join(SUFFIXES)}")
    refused: tuple[type[Exception], ...] = (ValueError, RecursionError)
    try:
        if kind == "TOML":
            return as_rubric(tomllib.loads(text))
        if kind == "JSON":
            return as_rubric(json.loads(text))
        import yaml  # noqa: PLC0415 - an extra

        refused = (*refused, yaml.YAMLError)
        return as_rubric(yaml.safe_load(text))
    except ImportError:
        raise ConfigError(f"{file}: {_INSTALL}") from None
    except ConfigError as error:
        raise InputError(str(error), source=str(file)) from None
    except refused as error:
        raise InputError(f"is not {kind}: {' '.join(str(error).split())}", source=str(file)) from None


def _text(file: Path) -> str:
    with open_binary(file) as stream:
        try:
            return stream.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text; save the file as UTF-8", source=str(file)) from None


def with_grader_prompt(grading: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a ``Grading`` with the text of its ``grader_prompt``, if that is the name of a text file.

    A text with <<conversation>> is the template itself. Such a grading asks ``per_criterion`` unless it names another
    mode. Raises InputError for a file that holds no template.
    """
    prompt = grading.get("grader_prompt")
    if prompt is None:
        return grading
    if isinstance(prompt, os.PathLike) or (isinstance(prompt, str) and "<<" not in prompt and "\n" not in prompt):
        file = Path(prompt)
        prompt = _text(file).replace("\r\n", "\n").strip()
        try:
            require_grader_prompt(prompt)
        except ConfigError as error:
            raise InputError(str(error), source=str(file)) from None
    return {"mode": "per_criterion", **grading, "grader_prompt": prompt}


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

    def read(value: Mapping[str, Any], number: int) -> RubricRow:
        row = as_rubric_row(value, number, pitfalls=pitfalls)
        prompt = json.dumps(row.prompt, sort_keys=True, default=str)
        first, rubric = seen.setdefault(prompt, (number, row.rubric)) if row.prompt else (number, row.rubric)
        if rubric != row.rubric:  # the prompt would be graded in two ways
            remedy = "merge the two, or give them different prompts"
            raise InputError(f"prompt: the same as in row {first}, with another rubric; {remedy}")
        return row

    file = Path(path)
    rows = parquet_rows(file) if file.suffix == ".parquet" else read_json_lines(file)
    return convert_rows(rows, read, source=os.fspath(path), on_error=on_error)


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
    return RubricRow(number, name, prompt_messages(row), rubric, extra)


_KEYS: Final = READ_KEYS | {"rubric"}
_TEXTS: Final = frozenset({"text", "criterion", "description", "question", "criterion_text"})
"""Fields by which an object in a list is a criterion; other objects may have a weight that is missing."""


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a data set's row as plain data without empty fields.

    Raises InputError, with the place, for a criterion whose points are NaN or infinite.
    """
    for key, value in row.items():
        if key in _KEYS and value is not None:
            _require_finite_points(value, str(key))
    return without_empty_fields(plain_data(row))


def plain_criteria(value: Any, place: str) -> Any:
    """Return a rubric in any form as plain data. Raises InputError as ``plain_row`` does."""
    _require_finite_points(value, place)
    return plain_data(value)


def _require_finite_points(value: Any, place: str, depth: int = 0, *, listed: bool = False) -> None:
    """Raise InputError for an object in a list, a criterion, whose points are NaN or infinite, and for such a floor."""
    if not isinstance(value, list | tuple | Mapping) and callable(getattr(value, "tolist", None)):
        value = value.tolist()  # a numpy array
    if depth >= MAX_DEPTH:
        return  # plain_data refuses it
    if isinstance(value, Mapping):
        points = {"points", "weight"} if listed and not _TEXTS.isdisjoint(value) else set[str]()
        for key, item in value.items():
            if key in points | {"veto_floor"} and isinstance(item, float) and not math.isfinite(item):
                raise InputError(f"{place}: {key} must be a finite number, not {item}")
            _require_finite_points(item, f"{place}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value, start=1):
            _require_finite_points(item, f"{place}: criterion {number}", depth + 1, listed=True)
