"""Files of scenarios: JSON lines, verl's Parquet, ART's collection, a folder for Hugging Face ``datasets``.

Not responsible for which scenarios (``scenarios``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from calipers.errors import ConfigError, InputError

if TYPE_CHECKING:
    from calipers.scenarios import Scenario, Split
    from calipers.scenarios.keeping import Rollouts
    from calipers.types import Tool

Form: TypeAlias = Literal["jsonl", "verl", "art", "datasets"]
_BY_SUFFIX: Final[Mapping[str, Form]] = {".jsonl": "jsonl", ".parquet": "verl", ".json": "art", "": "datasets"}
_ART_LEVELS: Final = {"easy": 1, "medium": 3, "hard": 5}
"""ART's difficulties are whole numbers from 1 to 5."""
VALIDATION: Final = ".validation"


def form_of(out: str) -> Form:
    """Return the form of scenarios that the name ``out`` stands for. Raises ConfigError for another suffix."""
    suffix = Path(out).suffix
    if suffix not in _BY_SUFFIX:
        raise ConfigError(
            f"--out {out}: name it .jsonl, .parquet (verl), .json (ART), or without a suffix (a folder for datasets)"
        )
    if not Path(out).absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: its folder does not exist; create it first")
    form = _BY_SUFFIX[suffix]
    if form == "datasets":
        _datasets()
    return form


def validation_path(out: str) -> str:
    """Return where the scenarios for validation go: beside ``out``; a folder holds both."""
    path = Path(out)
    return str(path.with_name(f"{path.stem}{VALIDATION}{path.suffix}")) if path.suffix else out


def write_split(parts: Split, out: str, tools: Sequence[Tool]) -> None:
    """Write a split of scenarios in the form that the name ``out`` stands for. Raises ConfigError if it cannot."""
    form = form_of(out)
    if form == "datasets":
        _write_folder(parts, out, tools)
        return
    for path, side, named in ((out, parts.train, "train"), (validation_path(out), parts.validation, "validation")):
        if not side and named == "validation":
            continue
        if form == "art":
            collection = {"scenarios": [_art_row(one) for one in side]}
            _write_text(path, json.dumps(collection, ensure_ascii=False, indent=1) + "\n")
        elif form == "verl":
            _write_rows([_verl_row(one, place, named, tools) for place, one in enumerate(side)], path)
        else:
            _write_rows([_row(one, tools) for one in side], path)


def _row(one: Scenario, tools: Sequence[Tool]) -> dict[str, Any]:
    """Return a scenario as a row of prompts for ``calipers generate``."""
    own = {"tools": list(tools), "needs": list(one.tools)} if tools else {}
    return {"id": one.id, "prompt": one.text, "topic": one.cell.topic, "difficulty": one.cell.difficulty, **own}


def _verl_row(one: Scenario, index: int, named: str, tools: Sequence[Tool]) -> dict[str, Any]:
    """Return a scenario as a row of verl's data; verl wants a ground truth, which is empty: a judge decides."""
    own = {"tools": json.dumps(list(tools), ensure_ascii=False), "needs": list(one.tools)} if tools else {}
    return {
        "id": one.id,
        "data_source": "calipers/scenarios",
        "prompt": [{"role": "user", "content": one.text}],
        "ability": one.cell.topic,
        "reward_model": {"style": "rule", "ground_truth": ""},
        "extra_info": {
            "split": named, "index": index, "difficulty": one.cell.difficulty, **own,
        },
    }  # fmt: skip


def _art_row(one: Scenario) -> dict[str, Any]:
    return {"task": one.text, "difficulty": _ART_LEVELS[one.cell.difficulty], "id": one.id}


def _datasets() -> Any:
    try:
        import datasets  # noqa: PLC0415 - not a dependency of calipers
    except ImportError:
        raise ConfigError(
            "writing a folder for Hugging Face datasets needs it: pip install datasets; or name the file .jsonl"
        ) from None
    return datasets


def _write_folder(parts: Split, out: str, tools: Sequence[Tool]) -> None:
    datasets = _datasets()
    sides = {"train": parts.train, "validation": parts.validation}
    rows = {name: [_row(one, tools) for one in side] for name, side in sides.items() if side}
    folder = Path(out)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not (folder / "dataset_dict.json").exists()):
        raise ConfigError(f"--out {out}: exists and is not a folder of datasets; name another")
    # Definitions of different tools have different fields; a table needs one type, so they are text there.
    packed = {
        name: [{**row, **({"tools": json.dumps(row["tools"])} if "tools" in row else {})} for row in listed]
        for name, listed in rows.items()
    }
    made = datasets.DatasetDict({name: datasets.Dataset.from_list(listed) for name, listed in packed.items()})
    made.save_to_disk(out)


def _write_rows(rows: list[dict[str, Any]], path: str) -> None:
    from calipers.generation.forms import write_rows  # noqa: PLC0415 - --help stays quick

    write_rows(rows, path)


def _write_text(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--out {path}: cannot be written: {error.strerror}") from error


def read_rows(path: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a file of scenarios by id. Raises InputError naming a line without an id, or a repeated id."""
    found: dict[str, dict[str, Any]] = {}
    for line, row in _rows(path):
        name = row.get("id")
        if name is None:
            raise InputError("has no id; name the file that calipers scenarios wrote", source=path, line=line)
        if str(name) in found:
            raise InputError(f"the id {name!r} is there twice", source=path, line=line)
        found[str(name)] = row
    if not found:
        raise InputError("holds no scenarios", source=path)
    return found


def _rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    from calipers.inputs.jsonl import read_json_lines  # noqa: PLC0415 - --help stays quick
    from calipers.inputs.parquet import parquet_rows  # noqa: PLC0415 - likewise

    if path.endswith(".json"):
        yield from enumerate(_collection(path), start=1)
        return
    for line, row in parquet_rows(Path(path)) if path.endswith(".parquet") else read_json_lines(path):
        if not isinstance(row, dict):
            raise InputError(str(row), source=path, line=line)
        yield line, row


def _collection(path: str) -> list[dict[str, Any]]:
    try:
        listed = json.loads(Path(path).read_text(encoding="utf-8"))["scenarios"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"is not ART's collection of scenarios: {error}", source=path) from None
    return [dict(one) for one in listed]


def read_rollouts(path: str, rows: Mapping[str, Any]) -> list[Rollouts]:
    """Return the scores of each scenario's rollouts in a result file; groups with the same id are one.

    The id of a group is its scenario's, as ``calipers generate`` has it. Raises InputError for a result file whose
    groups are none of the scenarios.
    """
    from calipers.inputs.jsonl import read_json_lines  # noqa: PLC0415 - --help stays quick
    from calipers.scenarios.keeping import Rollouts  # noqa: PLC0415 - likewise

    scores: dict[str, list[float | None]] = {}
    strangers = 0
    for line, row in read_json_lines(path):
        if isinstance(row, str):
            raise InputError(row, source=path, line=line)
        name = str(row.get("group_id"))
        if name not in rows:
            strangers += 1
            continue
        told = [one.get("score") for one in row.get("trajectories") or () if isinstance(one, Mapping)]
        scores.setdefault(name, []).extend(float(one) if isinstance(one, int | float) else None for one in told)
    if not scores:
        raise InputError(
            f"none of its {strangers} groups is one of the scenarios; their group_id is the scenario's id", source=path
        )
    return [
        Rollouts(name, tuple(one for one in told if one is not None), told.count(None)) for name, told in scores.items()
    ]


def write_kept(rows: list[dict[str, Any]], out: str) -> None:
    """Write the scenarios that are kept, as they were: ART's collection for ``.json``, else rows."""
    if out.endswith(".json"):
        _write_text(out, json.dumps({"scenarios": rows}, ensure_ascii=False, indent=1) + "\n")
    else:
        _write_rows(rows, out)
