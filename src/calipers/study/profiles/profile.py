"""A judge's profile: a few figures of ``calipers calibrate`` in a small JSON file, which holds numbers and texts only.

A profile may come from a stranger: nothing in it names a file, an address or code.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.inputs.records import open_binary

_KEY: Final = "calipers_profile"
_VERSION: Final = 1
_LARGEST_FILE: Final = 2**20
_LONGEST: Final = 2000
_MOST_PLACES: Final = 1000
_REMEDY: Final = "write profiles with `calipers study profile`"
_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "level": (0, 1),
    "gain": (-10, 10),
    "quality_mean": (0, 1),
    "quality_sd": (0, 1),
    "error": (0, 10),
    "noise": (0, 10),
    "per_doubling": (-1, 1),
    "ties": (0, 1),
    "failures": (0, 1),
    "fidelity": (-1, 1),
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What a judge's recorded answers show. Scores are on a scale from 0 to 1.

    - ``judge`` and ``asked`` say who answered which kind of question, about ``groups`` groups.
    - ``level`` is the mean score. ``gain`` is what quality from 0 to 1 adds to a score within a group, where quality is
      the gold on a scale from 0 to 1, with the mean ``quality_mean`` and the standard deviation ``quality_sd`` within a
      group. ``gain`` is None without gold.
    - ``error`` is the standard deviation of a candidate's lasting error, which no repetition removes, and ``noise``
      that of a single answer (None if nothing was asked twice).
    - ``positions`` is what each position of a list adds, first to last; empty if unknown.
    - ``per_doubling`` is what twice the length adds at equal gold; None without texts.
    - ``ties`` is the share of pairs that an answer ties, and ``failures`` that of candidates without a readable answer.
    - ``fidelity`` is the correlation of one answer's scores with gold within a group.
    """

    name: str
    judge: str
    asked: str
    groups: int
    level: float
    gain: float | None
    quality_mean: float
    quality_sd: float
    error: float
    noise: float | None
    positions: tuple[float, ...] = ()
    per_doubling: float | None = None
    ties: float = 0.0
    failures: float = 0.0
    fidelity: float | None = None
    note: str = ""


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile in a JSON file. Raises InputError with file and remedy for anything else."""
    source = os.fspath(path)
    if not Path(path).is_file():
        raise InputError("there is no such file", source=source)
    with open_binary(Path(path)) as stream:
        data = stream.read(_LARGEST_FILE + 1)
    return parse_profile(data, source=source)


def parse_profile(data: bytes, *, source: str) -> Profile:
    """Return the profile in a JSON document, which errors call ``source``. Raises InputError as ``read_profile``."""
    if len(data) > _LARGEST_FILE:
        raise InputError(f"is larger than 1 MB, so it is no profile; {_REMEDY}", source=source)
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not readable JSON ({error}); {_REMEDY}", source=source) from None
    if not isinstance(document, dict) or repr(document.pop(_KEY, None)) != str(_VERSION):
        raise InputError(f'is no profile: it lacks "{_KEY}": {_VERSION}; {_REMEDY}', source=source)
    known = {field.name for field in fields(Profile)}
    required = {field.name for field in fields(Profile) if field.name not in _OPTIONAL}
    if unknown := sorted(document.keys() - known):
        raise InputError(f"has an unknown key {unknown[0]!r:.60}; {_REMEDY}", source=source)
    if missing := sorted(required - document.keys()):
        raise InputError(f"lacks {missing[0]!r}; {_REMEDY}", source=source)
    try:
        return Profile(**{name: _checked(name, value) for name, value in document.items()})
    except ValueError as error:
        raise InputError(f"{error}; {_REMEDY}", source=source) from None


_OPTIONAL: Final = frozenset({"positions", "per_doubling", "ties", "failures", "fidelity", "note"})
_MAY_BE_UNKNOWN: Final = frozenset({"gain", "noise", "per_doubling", "fidelity"})


def _checked(name: str, value: Any) -> Any:
    """Return a profile's value in its type. Raises ValueError that names the key."""
    if value is None and name in _MAY_BE_UNKNOWN:
        return None
    if name in _BOUNDS:
        return _number(name, value, *_BOUNDS[name])
    if name == "groups":
        return int(_number(name, value, 0, 10**12))
    if name == "positions":
        if not isinstance(value, list) or len(value) > _MOST_PLACES:
            raise ValueError(f"'positions' must be a list of at most {_MOST_PLACES} numbers")
        return tuple(_number(name, number, -10, 10) for number in value)
    if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
        raise ValueError(f"{name!r} must be a text of at most {_LONGEST} characters, on one line")
    return value


def _number(name: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ValueError(f"{name!r} must be a number from {low:g} to {high:g}, not {value!r:.60}")
    return float(value)


def profile_as_text(profile: Profile) -> str:
    """Return a profile as the text of its file: a key a line, numbers with six digits. Equal profiles, equal texts."""
    document: dict[str, Any] = {_KEY: _VERSION, **asdict(profile)}
    lines = [
        f"  {json.dumps(key)}: {json.dumps(_rounded(value), ensure_ascii=False)}" for key, value in document.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _rounded(value: Any) -> Any:
    match value:
        case float() if math.isfinite(value):
            return float(f"{value:.6g}")
        case tuple():
            return [_rounded(item) for item in value]
    return value


def find_profile(source: str) -> Profile:
    """Return the shipped profile of the name ``source``, or the profile in the file ``source``.

    Raises ConfigError for an unknown name, and InputError for a file that is no profile.
    """
    if source in shipped_names():
        return shipped_profile(source)
    if source.endswith(".json") or Path(source).is_file():
        return read_profile(source)
    near = get_close_matches(source, shipped_names(), n=1)
    hint = f"did you mean {near[0]}?" if near else f"the shipped ones are {', '.join(shipped_names())}"
    raise ConfigError(f"there is no profile {source!r}: neither a file nor a shipped profile; {hint}")


@lru_cache(maxsize=1)
def shipped_names() -> tuple[str, ...]:
    """Return the names of the profiles that come with calipers, sorted."""
    folder = resources.files(__package__).joinpath("shipped")
    return tuple(sorted(file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json")))


@lru_cache(maxsize=16)
def shipped_profile(name: str) -> Profile:
    """Return a profile that comes with calipers, by its name."""
    file = resources.files(__package__).joinpath("shipped", f"{name}.json")
    return parse_profile(file.read_bytes(), source=f"{name}.json")
