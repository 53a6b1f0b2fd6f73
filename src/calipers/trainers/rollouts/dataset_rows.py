"""What the rows of a trainer's data set ask for, and a warning of what nothing looks at.

Pure but for warnings, which Python shows once a process. Not responsible for where a row stands (each trainer's module).
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any, Final

from calipers.errors import InputError
from calipers.readers.parquet import without_empty
from calipers.readers.plain import plain
from calipers.rubric.standards import CARRIERS, READ, Standards, standards_in
from calipers.rubric.unknown_keys import told
from calipers.types import Rubric

_COLUMNS: Final = CARRIERS - {"reference", "reference_answer", "functions"} | {"rubric", "constraints"}
"""Columns that hold standards by their name alone; a reference is a trainer's own setting everywhere."""


_INSIDE: Final = ("reward_model", "extra_info", "prompt_metadata")
REMEDY: Final = "this trainer's adapter asks a judge only; calipers.Hybrid checks rules"


def standards_of(row: Mapping[str, Any]) -> Standards:
    """What a row of a data set asks for. Raises InputError naming the place for what cannot be read."""
    keys = READ | {"rubric"}
    return standards_in(without_empty(plain({key: row[key] for key in keys if row.get(key) is not None})))


def rubric_in(row: Mapping[str, Any], default: str | None, *, remedy: str) -> str | Rubric | None:
    """The rubric a row brings, else ``default``; rules that it brings besides are warned of. Raises InputError."""
    stated = standards_of(row)
    if stated.rules is not None:
        warn_unused(f"the rules in {stated.rules.place}", remedy)
    # What is under a name that nobody knows may be another reward's; where there is a rubric, it is no matter.
    if stated.rubric is None and stated.rules is None:
        for note in told(row, read=READ | {"rubric"}, inside=_INSIDE, kinds=("rubric", "rules")):
            warnings.warn(f"{note} (rows of the data set)", stacklevel=2)
    return default if stated.rubric is None else stated.rubric


def rubric_of_row(row: object, default: str | None) -> str | Rubric | None:
    """``rubric_in`` what an engine carries along with a prompt, which may be nothing, or no object."""
    return rubric_in(row, default, remedy=REMEDY) if isinstance(row, Mapping) else default


def read_label(label: Any, default: str | None) -> tuple[str | Rubric | None, Any]:
    """The rubric and the reference in a label, all that some engines hand over of a row: an answer, or JSON that asks for
    something, as in verl's ``ground_truth``.
    """
    row = {"ground_truth": label}
    reference = standards_of(row).reference
    return rubric_in(row, default, remedy=REMEDY), None if reference is None else reference.value


def warn_unused(what: str, remedy: str) -> None:
    """Warn of something that the data set's rows ask for and that nothing looks at."""
    warnings.warn(f"{what} of the data set's rows: not used; {remedy}", stacklevel=3)


def warn_unused_columns(columns: Mapping[str, Any], *, used: Collection[str | None]) -> None:
    """Warn of columns that by their names hold standards, and that no argument names."""
    for name in sorted(_COLUMNS - set(used)):
        column = columns.get(name)
        if isinstance(column, list | tuple) and any(_asks(name, one) for one in column[:1]):
            warn_unused(f"the column {name!r}", "rubric_column= names the one that rubrics are taken from")


def _asks(name: str, value: Any) -> bool:
    """Whether a column of that name asks for anything in a row; what cannot be read does, for all that is known."""
    if name == "constraints":
        return bool(value)
    try:
        stated = standards_of({name: value})
    except InputError:
        return True
    return stated.rubric is not None or stated.rules is not None
