"""Rows of groups from Python objects: a list of dicts, a pandas data frame, or a Hugging Face dataset.

None of these libraries is imported. Not responsible for files (``files``) or for groups (``groups``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from calipers.errors import InputError
from calipers.inputs.parquet import GROUP_COLUMNS, row_as_object

Row = tuple[int, Any]
_NO_OBJECT = "is text where a group is needed; parse lines of JSON with json.loads, or give the path of their file"


def is_table(source: object) -> bool:
    """Return whether ``source`` is a data frame, or a dataset of groups or of anything else."""
    columns = ("itertuples", "columns"), ("column_names", "features")
    return any(all(hasattr(source, name) for name in names) for names in columns)


def table_rows(source: object, columns: Mapping[str, Any] = GROUP_COLUMNS) -> Iterator[Row]:
    """Yield every row of ``source`` with its number from 1: an object of a groups file, or text on what is wrong.

    ``columns`` of a data frame or a dataset may be JSON text.

    Raises InputError for a dataset with splits, and for what is no table.
    """
    if isinstance(source, Mapping) and "trajectories" not in source and "responses" not in source:
        names = ", ".join(map(str, source))
        if any(isinstance(one, list | tuple) and one and not isinstance(one[0], Mapping) for one in source.values()):
            raise InputError(
                f"it has the columns {names}, and no rows: give a list of rows, or datasets.Dataset.from_dict(...)"
            )
        raise InputError(f"it has the splits {names}: read one of them, as in read_groups(dataset['train'])")
    if not isinstance(source, Iterable) or isinstance(source, bytes | bytearray):
        raise InputError("read_groups() takes a path, a list of groups, a data frame or a dataset")
    if hasattr(source, "itertuples") and hasattr(source, "columns"):
        yield from _rows_of_frame(source, columns)
    elif hasattr(source, "column_names") and hasattr(source, "features"):
        plain = source.with_format(None) if hasattr(source, "with_format") else source  # not tensors or data frames
        yield from ((number, row_as_object(dict(row), columns)) for number, row in enumerate(plain, start=1))
    else:
        listed = [source] if isinstance(source, Mapping) else source
        yield from ((number, _NO_OBJECT if isinstance(row, str) else row) for number, row in enumerate(listed, start=1))


def _rows_of_frame(frame: Any, columns: Mapping[str, Any]) -> Iterator[Row]:
    names = [str(name) for name in frame.columns]
    for number, values in enumerate(frame.itertuples(index=False, name=None), start=1):
        row = {name: _plain(value) for name, value in zip(names, values, strict=True)}
        yield number, row_as_object({name: value for name, value in row.items() if value is not None}, columns)


def _plain(value: Any) -> Any:
    """Return a data frame's value as plain data: no arrays and numbers of NumPy; a missing value (NaN) is None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    # NaN and NaT differ from themselves; whether pandas' NA does is NA again, which is neither True nor False.
    return value if (value == value) is True else None  # noqa: PLR0124 - see above
