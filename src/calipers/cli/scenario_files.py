"""Files of scenarios: JSON lines, verl's Parquet, ART's collection, a folder for Hugging Face ``datasets``.

Not responsible for which scenarios (``scenarios``), or for keeping some of a file (``kept_scenarios``).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from calipers.cli.messages import print_message
from calipers.cli.overwriting import SCENARIOS
from calipers.errors import ConfigError

if TYPE_CHECKING:
    from calipers.scenarios import Scenario, Split
    from calipers.types import Tool

Form: TypeAlias = Literal["jsonl", "verl", "art", "datasets"]
_BY_SUFFIX: Final[Mapping[str, Form]] = {".jsonl": "jsonl", ".parquet": "verl", ".json": "art", "": "datasets"}
_ART_LEVELS: Final = {"easy": 1, "medium": 3, "hard": 5}
"""ART's difficulties are whole numbers from 1 to 5."""
VALIDATION: Final = ".validation"
_DICT: Final = "dataset_dict.json"


def form_of(out: str) -> Form:
    """Return the form of scenarios that the name ``out`` stands for.

    Raises ConfigError for another suffix, and for a place where no such file or folder can be made.
    """
    suffix = Path(out).suffix
    if suffix not in _BY_SUFFIX:
        raise ConfigError(
            f"--out {out}: name it .jsonl, .parquet (verl), .json (ART), or without a suffix (a folder for datasets)"
        )
    if not Path(out).absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: its folder does not exist; create it first")
    form = _BY_SUFFIX[suffix]
    if form == "datasets":
        load_datasets()
        _require_folder(out)
    elif Path(out).is_dir():
        raise ConfigError(f"--out {out}: is a folder; name a file")
    return form


def _require_folder(out: str) -> None:
    """Raise ConfigError unless ``out`` is missing, an empty folder, or a folder of datasets, which may be replaced."""
    folder = Path(out)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not (folder / _DICT).exists()):
        raise ConfigError(f"--out {out}: exists and is not a folder of datasets; name another")


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
    _write_side(parts.train, out, form, "train", tools)
    beside = validation_path(out)
    if parts.validation:
        _write_side(parts.validation, beside, form, "validation", tools)
    else:
        _remove_stale(beside)


def _write_side(side: Sequence[Scenario], path: str, form: Form, named: str, tools: Sequence[Tool]) -> None:
    if form == "art":
        write_collection({"scenarios": [_art_row(one) for one in side]}, path)
    elif form == "verl":
        _write_rows([_verl_row(one, place, named, tools) for place, one in enumerate(side)], path)
    else:
        _write_rows([_row(one, tools) for one in side], path)


def _remove_stale(path: str) -> None:
    """Remove the validation scenarios of an earlier run: among them may be what is now trained on."""
    file = Path(path)
    if not file.is_file() or not SCENARIOS.is_one(file):
        return
    try:
        file.unlink()
    except OSError as error:
        raise ConfigError(f"{path}: is of an earlier run and cannot be removed: {error.strerror}") from error
    print_message(f"Removed {path} of an earlier run: this run has no scenarios for validation")


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


def load_datasets() -> Any:
    """Return Hugging Face ``datasets``. Raises ConfigError, with the remedy, where it is not installed."""
    try:
        import datasets  # noqa: PLC0415 - not a dependency of calipers
    except ImportError:
        raise ConfigError(
            "a folder for Hugging Face datasets needs it: pip install datasets; or name the file .jsonl"
        ) from None
    return datasets


def _write_folder(parts: Split, out: str, tools: Sequence[Tool]) -> None:
    datasets = load_datasets()
    sides = {"train": parts.train, "validation": parts.validation}
    rows = {name: [_row(one, tools) for one in side] for name, side in sides.items() if side}
    # Definitions of different tools have different fields; a table needs one type, so they are text there.
    packed = {
        name: [{**row, **({"tools": json.dumps(row["tools"])} if "tools" in row else {})} for row in listed]
        for name, listed in rows.items()
    }
    save_folder(
        datasets.DatasetDict({name: datasets.Dataset.from_list(listed) for name, listed in packed.items()}), out
    )


def save_folder(found: Any, out: str) -> None:
    """Save a ``DatasetDict`` of scenarios to the folder ``out``, in which no split of an earlier run remains.

    Raises ConfigError if the folder cannot be written.
    """
    try:
        earlier = json.loads((Path(out) / _DICT).read_text(encoding="utf-8")).get("splits", ())
    except (OSError, ValueError, AttributeError):
        earlier = ()
    try:
        found.save_to_disk(out)
        for name in {str(name) for name in earlier} & {"train", "validation"} - set(found):
            with suppress(FileNotFoundError):
                shutil.rmtree(Path(out) / name)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written: {error.strerror or error}") from error


def _write_rows(rows: list[dict[str, Any]], path: str) -> None:
    from calipers.generation.forms import write_rows  # noqa: PLC0415 - --help stays quick

    write_rows(rows, path)


def write_collection(collection: Mapping[str, Any], path: str) -> None:
    """Write ART's collection of scenarios; the old file stays until the new one is complete. Raises ConfigError."""
    part = Path(f"{path}.part")
    try:
        part.write_text(json.dumps(collection, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"--out {path}: cannot be written: {error.strerror}") from error
