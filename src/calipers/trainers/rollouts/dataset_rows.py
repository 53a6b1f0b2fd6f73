"""Reads what the rows of a trainer's data set ask for (rubrics, references, rules), and warns of what is not used.

Pure except for warnings, which Python prints once a process. Not responsible for where a row is stored (each trainer's
module).
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any, Final

from calipers.errors import InputError
from calipers.inputs.standards import plain_row
from calipers.rubric.dataset_standards import READ_KEYS, STANDARDS_KEYS, Standards, read_standards
from calipers.rubric.unused_standards import unread_keys
from calipers.types import Rubric

_COLUMNS: Final = STANDARDS_KEYS - {"reference", "reference_answer", "functions"} | {"rubric", "constraints"}
"""Columns whose name says that they hold rubrics or rules. References are not among them: they have a setting."""


def standards_of_row(row: Mapping[str, Any]) -> Standards:
    """Return the rubric, reference and rules of a row of a trainer's data set.

    Raises InputError, with the field, for what cannot be read.
    """
    keys = READ_KEYS | {"rubric"}
    return read_standards(plain_row({key: row[key] for key in keys if row.get(key) is not None}))


def rubric_of_row(row: object, default: str | None) -> str | Rubric | None:
    """Return the rubric of a row of a trainer's data set, and warn of rules, which are not used.

    Return ``default`` if the row has no rubric or is not an object. Raises InputError for a rubric that cannot be read.
    """
    if not isinstance(row, Mapping):
        return default
    stated = standards_of_row(row)
    if stated.rules is not None:
        warn_unused(
            f"the rules in {stated.rules.place}", "this adapter only asks a judge; calipers.Hybrid checks rules"
        )
    # Unknown keys may belong to another reward; if the row has a rubric, they do not matter.
    if stated.rubric is None and stated.rules is None:
        for note in unread_keys(row):
            warnings.warn(f"{note} (rows of the data set)", stacklevel=2)
    return default if stated.rubric is None else stated.rubric


def read_label_of_row(label: Any, default: str | None) -> tuple[str | Rubric | None, Any]:
    """Return the rubric and the reference answer in the label of a trainer's row.

    Some engines pass on nothing else of a row.

    A label is an answer, or JSON with a rubric, like verl's ``ground_truth``.
    """
    row = {"ground_truth": label}
    reference = standards_of_row(row).reference
    return rubric_of_row(row, default), None if reference is None else reference.value


def warn_unused(what: str, remedy: str) -> None:
    """Warn of something that the rows of a trainer's data set ask for and that is not used."""
    warnings.warn(f"{what} of the data set's rows: not used; {remedy}", stacklevel=3)


def warn_unused_columns(columns: Mapping[str, Any], *, used: Collection[str | None]) -> None:
    """Warn of unused columns of a trainer's data set.

    Their names say that they hold rubrics or rules, but no argument names them.
    """
    for name in sorted(_COLUMNS - set(used)):
        column = columns.get(name)
        if isinstance(column, list | tuple) and any(_has_standards(name, value) for value in column[:1]):
            warn_unused(f"the column {name!r}", "rubric_column= names the column that rubrics are read from")


def _has_standards(name: str, value: Any) -> bool:
    """Return whether a column's value asks for anything; a value that cannot be read counts as asking."""
    if name == "constraints":
        return bool(value)
    try:
        stated = standards_of_row({name: value})
    except InputError:
        return True
    return stated.rubric is not None or stated.rules is not None
