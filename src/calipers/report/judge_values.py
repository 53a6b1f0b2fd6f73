"""Values from files about judges, checked: one that is missing or of another type is None or empty, never zero."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from calipers.errors import InputError
from calipers.types.encoding import measured_number

_MOST_BYTES: Final = 2**26
MOST_TEXT: Final = 4000


def json_document(path: str, *, what: str, remedy: str) -> dict[str, Any]:
    """Return the JSON object in a file for a report; {} for JSON of another kind.

    ``what`` the file should be, such as "a calibration", and the ``remedy`` are in the error. Raises InputError.
    """
    with Path(path).open("rb") as stream:
        data = stream.read(_MOST_BYTES + 1)
    noun = what.partition(" ")[2]
    if len(data) > _MOST_BYTES:
        raise InputError(f"is larger than 64 MB, so it is no {noun}; {remedy}", source=path)
    try:
        found = json.loads(data.decode("utf-8-sig"), parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        message = f"begins as {what} does, but is not JSON: {error.msg}; {remedy}"
        raise InputError(message, source=path, line=error.lineno) from None
    except (UnicodeDecodeError, RecursionError):
        raise InputError(f"begins as {what} does, but cannot be read; {remedy}", source=path) from None
    return found if isinstance(found, dict) else {}


def bare_judge(name: str) -> dict[str, Any]:
    """Return a judge for the page of which only the name is known."""
    return {
        "name": name, "judge": name, "groups": None, "judged": None, "calls": None, "figures": {}, "missing": {},
        "cost": None, "positions": [], "positions_shrunk": False, "by_calls": [], "bins": [],
    }  # fmt: skip


def figure_list(value: object, interval: object = None) -> list[float | None]:
    """Return a number of the page with the ends of its interval, None where unknown."""
    ends = list_of(interval)
    low, high = (measured_number(one) for one in ends) if len(ends) == 2 else (None, None)
    return [measured_number(value), low, high]


def list_of(value: object) -> Sequence[Any]:
    """Return a JSON array; an empty one for anything else."""
    return value if isinstance(value, list | tuple) else ()


def short_text(value: object) -> str | None:
    """Return text for the page, shortened, because a name may be a megabyte; None for anything else."""
    return value[:MOST_TEXT] if isinstance(value, str) else None
