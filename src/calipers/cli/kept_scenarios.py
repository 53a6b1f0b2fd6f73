"""Reads a file of scenarios and the scores of their rollouts, and writes the scenarios that are kept, as they were.

Not responsible for which are kept (``scenarios.keeping``), or for writing new scenarios (``scenario_files``).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calipers.cli.scenario_files import Form, form_of, load_datasets, save_folder, write_collection
from calipers.errors import ConfigError, InputError
from calipers.types.encoding import counted, finite_number

if TYPE_CHECKING:
    from calipers.scenarios.keeping import Rollouts

_SUFFIXES: Mapping[Form, str] = {
    "jsonl": ".jsonl",
    "verl": ".parquet",
    "art": ".json",
    "datasets": "no suffix (a folder)",
}

_WITHOUT_SCORE = frozenset(("failed", "abstained"))


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A file of scenarios as it was read: ``rows`` by id, in order, and ``whole``, what it holds in its own form.

    ``whole`` is ART's collection, or the splits of a folder of datasets, of which the rows are those for training.
    """

    path: str
    form: Form
    rows: Mapping[str, Mapping[str, Any]]
    whole: Any = None

    def write(self, kept: Collection[str], out: str) -> None:
        """Write the scenarios named ``kept``, in their order, in the form in which they were read."""
        places = [place for place, name in enumerate(self.rows) if name in kept]
        if self.form == "art":
            write_collection({**self.whole, "scenarios": [self.rows[name] for name in self.rows if name in kept]}, out)
        elif self.form == "datasets":
            kinds = {name: split.select(places) if name == "train" else split for name, split in self.whole.items()}
            save_folder(type(self.whole)(kinds), out)
        elif self.form == "verl":
            _take_rows(self.path, places, out)
        else:
            from calipers.generation.forms import write_rows  # noqa: PLC0415 - --help stays quick

            write_rows([self.rows[name] for name in self.rows if name in kept], out)


def read_scenarios(path: str) -> ScenarioFile:
    """Return the scenarios in a file or folder that ``calipers scenarios`` wrote.

    Raises InputError naming a line without an id, or a repeated id.
    """
    if Path(path).is_dir():
        whole = _folder(path)
        return ScenarioFile(path, "datasets", _by_id(enumerate(whole["train"], start=1), path), whole)
    if path.endswith(".json"):
        collection = _collection(path)
        return ScenarioFile(path, "art", _by_id(enumerate(collection["scenarios"], start=1), path), collection)
    form: Form = "verl" if path.endswith(".parquet") else "jsonl"
    return ScenarioFile(path, form, _by_id(_lines(path, form), path))


def require_same_form(scenarios: str, out: str) -> None:
    """Raise ConfigError unless the name ``out`` stands for the form of the file ``scenarios``, which is kept."""
    forms: Mapping[str, Form] = {".json": "art", ".parquet": "verl"}
    form: Form = "datasets" if Path(scenarios).is_dir() else forms.get(Path(scenarios).suffix, "jsonl")
    if form_of(out) != form:
        raise ConfigError(
            f"--out {out}: scenarios are kept in the form in which they are, and {scenarios} is another; "
            f"name OUT with {_SUFFIXES[form]}"
        )


def _by_id(rows: Iterable[tuple[int, Any]], path: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for line, row in rows:
        if not isinstance(row, dict):
            raise InputError(row if isinstance(row, str) else "is no scenario", source=path, line=line)
        name = row.get("id")
        if name is None:
            raise InputError("has no id; name the file that calipers scenarios wrote", source=path, line=line)
        if str(name) in found:
            raise InputError(f"the id {name!r} is there twice", source=path, line=line)
        found[str(name)] = row
    if not found:
        raise InputError("holds no scenarios", source=path)
    return found


def _lines(path: str, form: Form) -> Iterator[tuple[int, Any]]:
    from calipers.inputs.jsonl import read_json_lines  # noqa: PLC0415 - --help stays quick
    from calipers.inputs.parquet import parquet_rows  # noqa: PLC0415 - likewise

    return parquet_rows(Path(path)) if form == "verl" else read_json_lines(path)


def _collection(path: str) -> dict[str, Any]:
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=path) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", source=path) from None
    if not isinstance(found, dict) or not isinstance(found.get("scenarios"), list):
        raise InputError('is not ART\'s collection of scenarios: {"scenarios": [...]}', source=path)
    return found


def _folder(path: str) -> Any:
    datasets = load_datasets()
    try:
        found = datasets.load_from_disk(path)
    except (OSError, ValueError) as error:
        raise InputError(f"is not a folder of datasets: {error}", source=path) from None
    if not isinstance(found, datasets.DatasetDict) or "train" not in found:
        raise InputError("has no split 'train'; name the folder that calipers scenarios wrote", source=path)
    return found


def _take_rows(path: str, places: list[int], out: str) -> None:
    """Write some rows of a Parquet file with the types of their columns."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra, and slow to import

    part = Path(f"{out}.part")
    try:
        pq.write_table(pq.read_table(path, partitioning=None).take(places), part)
        part.replace(out)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written: {error.strerror or error}") from error


@dataclass(slots=True)
class ReadRollouts:
    """The scores of each scenario's rollouts in a result file, and the ids of groups that are none of the scenarios."""

    groups: list[Rollouts]
    strangers: list[str] = field(default_factory=list)

    def note(self) -> str | None:
        """Return a sentence about groups that are none of the scenarios; None if there are none."""
        if not self.strangers:
            return None
        return (
            f"RESULT has {counted(len(self.strangers), 'group')} whose group_id is no scenario's id, ignored here "
            f"(the first: {self.strangers[0]!r})"
        )


def read_rollouts(path: str, rows: Mapping[str, Any]) -> ReadRollouts:
    """Return the scores of each scenario's rollouts in a result file; groups with the same id are one.

    The id of a group is its scenario's, as ``calipers generate`` has it. Raises InputError for a score that is no
    number, and for a result file without scores, or whose groups are none of the scenarios.
    """
    from calipers.inputs.jsonl import read_json_lines  # noqa: PLC0415 - --help stays quick
    from calipers.scenarios.keeping import Rollouts  # noqa: PLC0415 - likewise

    scores: dict[str, list[float | None]] = {}
    strangers: list[str] = []
    for line, row in read_json_lines(path):
        name = None if isinstance(row, str) else row.get("group_id")
        if name is not None and str(name) not in rows:
            strangers.append(str(name)[:200])
            continue
        try:
            scores.setdefault(str(name), []).extend(_scores(row))
        except InputError as error:
            raise InputError(str(error), source=path, line=line) from None
    if not scores and not strangers:
        raise InputError("holds no groups; name the file that calipers score wrote", source=path)
    if not scores:
        raise InputError(
            f"none of its {counted(len(strangers), 'group')} is one of the scenarios; "
            "their group_id is the scenario's id",
            source=path,
        )
    return ReadRollouts(
        [Rollouts(name, tuple(one for one in own if one is not None), own.count(None)) for name, own in scores.items()],
        strangers,
    )


def _scores(row: dict[str, Any] | str) -> list[float | None]:
    """Return the scores in a line of a result file, None for a rollout without one. Raises InputError.

    A rollout whose judging failed has none, whatever a file says beside it.
    """
    if isinstance(row, str):
        raise InputError(row)
    listed = row.get("trajectories")
    if row.get("group_id") is None or not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise InputError("is not a line of calipers score: it needs a group_id and a list of trajectories")
    if listed and not any("score" in one for one in listed):
        raise InputError("its trajectories have no scores; name the file that calipers score wrote")
    for one in listed:
        if one.get("score") is not None and finite_number(one["score"]) is None:
            raise InputError(
                f"trajectory {one.get('id')!r}: its score must be a finite number, or null for none, "
                f"not {one['score']!r:.60}"
            )
    return [None if one.get("status") in _WITHOUT_SCORE else finite_number(one.get("score")) for one in listed]
