"""Rows of data sets as plain data before their rubric is read: points that are no number are found first.

Plain data has None for NaN and infinities, which the reader of a rubric takes for "not stated". Not responsible for
where a row has its rubric (``rubric.dataset_standards``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from calipers.errors import InputError
from calipers.inputs.parquet import without_empty_fields
from calipers.inputs.plain import MAX_DEPTH, plain_data
from calipers.rubric.dataset_standards import READ_KEYS

_KEYS: Final = READ_KEYS | {"rubric"}
_POINTS: Final = ("points", "weight")
_TEXTS: Final = frozenset({"text", "criterion", "description", "question", "criterion_text"})
"""Fields by which an object in a list is a criterion; other objects may have a weight that is missing."""


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a data set's row as plain data without empty fields.

    Raises InputError, with the place, for a criterion whose points are NaN or infinite.
    """
    for key, value in row.items():
        if key in _KEYS and value is not None:
            require_finite_points(value, str(key))
    return without_empty_fields(plain_data(row))


def plain_criteria(value: Any, place: str) -> Any:
    """Return a rubric in any form as plain data. Raises InputError as ``plain_row`` does."""
    require_finite_points(value, place)
    return plain_data(value)


def require_finite_points(value: Any, place: str, depth: int = 0, *, listed: bool = False) -> None:
    """Raise InputError for an object in a list, a criterion, whose points are NaN or infinite, and for such a floor."""
    if depth >= MAX_DEPTH:
        return  # plain_data refuses it
    if isinstance(value, Mapping):
        listed = listed and not _TEXTS.isdisjoint(value)
        for key, item in value.items():
            if (
                (key == "veto_floor" or (listed and key in _POINTS))
                and isinstance(item, float)
                and not math.isfinite(item)
            ):
                raise InputError(f"{place}: {key} must be a finite number, not {item}")
            require_finite_points(item, f"{place}.{key}", depth + 1)
        return
    if not isinstance(value, list | tuple) and callable(getattr(value, "tolist", None)):
        value = value.tolist()  # a numpy array
    if isinstance(value, list | tuple):
        for number, item in enumerate(value, start=1):
            require_finite_points(item, f"{place}: criterion {number}", depth + 1, listed=True)
