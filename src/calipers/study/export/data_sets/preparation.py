"""Prepares a data set of the study: reads its authors' files, holds rows out, and writes Parquet files for verl.

Not responsible for the form of rows (``rows``) or for downloads.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calipers.errors import InputError
from calipers.generation.forms import write_rows
from calipers.inputs.jsonl import Row, read_json_file, read_json_lines
from calipers.inputs.parquet import parquet_rows, without_empty_fields
from calipers.rubric.dataset_standards import read_standards
from calipers.study.export.data_sets.catalogue import DataSet
from calipers.study.export.data_sets.rows import READERS, Form, StudyRow, hash_of_prompt, verl_row

OnError = Callable[[InputError], None]
"""What is called with the problem of a row that is skipped."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file that was written for verl: its path, its split ("train" or "val"), and how many rows it has."""

    path: Path
    split: str
    rows: int


def prepared_path(folder: Path, data_set: str, split: str, form: Form = "rubric") -> Path:
    """Return where the rows of a data set's ``split`` are written in ``folder``."""
    return folder / f"{data_set}{'.verif' if form == 'verif' else ''}.{split}.parquet"


def prepare_data_set(
    data_set: DataSet, source: Path, target: Path, *, form: Form = "rubric", on_error: OnError
) -> list[Prepared]:
    """Write the Parquet files of a data set, whose downloaded files are in ``source``, to the folder ``target``.

    A row that cannot be used goes to ``on_error``, with file and line, and is skipped. Raises InputError where
    ``source`` lacks the files or has no usable row, and ConfigError where the files cannot be read or written.
    """
    trained, held_out = _splits(data_set, source, on_error)
    written = []
    for split, rows in (("train", trained), ("val", held_out)):
        if split == "train" and not data_set.is_trained_on:
            continue
        made = list(_verl_rows(data_set, rows, split, form, on_error))
        if not made:
            raise InputError(f"no row of {data_set.title} can be used for {split}", source=str(source))
        path = prepared_path(target, data_set.name, split, form)
        write_rows(made, str(path))
        written.append(Prepared(path, split, len(made)))
    return written


@dataclass(frozen=True, slots=True)
class _Placed:
    """A row of a data set, and where it was read."""

    row: StudyRow
    source: str
    line: int


def _splits(data_set: DataSet, source: Path, on_error: OnError) -> tuple[list[_Placed], list[_Placed]]:
    """Return the rows to train on, and the rows that are held out. No prompt is in both."""
    trained = list(_read(data_set, source, data_set.files, on_error)) if data_set.is_trained_on else []
    if data_set.held_out:
        held_out = _some(list(_read(data_set, source, data_set.held_out, on_error)), data_set.evaluated)
        forbidden = {
            placed.row.id for name in data_set.without for placed in _read(data_set, source, (name,), on_error)
        }
    else:
        prompts = {hash_of_prompt(placed.row) for placed in trained}
        held_out, forbidden = _some(trained, min(data_set.evaluated or len(prompts), len(prompts) // 2)), set()
    prompts = {hash_of_prompt(placed.row) for placed in held_out}
    kept = [one for one in trained if one.row.id not in forbidden and hash_of_prompt(one.row) not in prompts]
    return kept, held_out


def _some(rows: list[_Placed], count: int | None) -> list[_Placed]:
    """Return the rows of the ``count`` prompts with the lowest hashes, in their order."""
    lowest = set(sorted({hash_of_prompt(placed.row) for placed in rows})[:count])
    return [placed for placed in rows if hash_of_prompt(placed.row) in lowest]


def _read(data_set: DataSet, source: Path, patterns: Iterable[str], on_error: OnError) -> Iterator[_Placed]:
    reader = READERS[data_set.rows]
    for path in _files(source, patterns):
        for line, raw in _raw_rows(path):
            try:
                if isinstance(raw, str):
                    raise InputError(raw)  # noqa: TRY301 - the line's problem, reported like that of a row
                for row in reader(without_empty_fields(raw)):
                    yield _Placed(row, str(path), line)
            except InputError as error:
                on_error(InputError(str(error), source=str(path), line=line))


def _files(source: Path, patterns: Iterable[str]) -> list[Path]:
    if source.is_file():
        return [source]
    tried = list(patterns)
    for pattern in tried:
        # The hub's client keeps notes of its own in hidden folders.
        found = [
            path
            for path in sorted(source.glob(pattern))
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(source).parts)
        ]
        if found:
            return found
    raise InputError(f"has no file {' or '.join(tried)}; download the data set there first", source=str(source))


def _raw_rows(path: Path) -> Iterator[Row]:
    match path.suffix:
        case ".parquet":
            yield from parquet_rows(path)
        case ".json":
            yield from read_json_file(path)
        case ".csv":
            yield from _csv_rows(path)
        case _:
            yield from read_json_lines(path)


def _csv_rows(path: Path) -> Iterator[Row]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            for row in reader:
                yield reader.line_num, dict(row)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot be read: {error}", source=str(path)) from error


def _verl_rows(
    data_set: DataSet, rows: Iterable[_Placed], split: str, form: Form, on_error: OnError
) -> Iterator[dict[str, Any]]:
    for index, placed in enumerate(rows):
        try:
            row = verl_row(
                placed.row, index=index, data_set=data_set.name, ability=data_set.ability, split=split, form=form
            )
            read_standards(row)  # as the trainer's adapter will read it
        except InputError as error:
            on_error(InputError(str(error), source=placed.source, line=placed.line))
        else:
            yield row
