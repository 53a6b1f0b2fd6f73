"""A profile as a JSON file: a readable document under ``"calipers_profile": 1``, read strictly.

Not responsible for the meaning of the numbers (``profile``), or for where shipped profiles are (``shipped``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.inputs.jsonl import open_binary
from calipers.study.profiles.decoding import DecodingError, decode, line_of
from calipers.study.profiles.possible import require_possible
from calipers.study.profiles.profile import Profile

VERSION: Final = 1
"""The version of the file's form, under the key ``calipers_profile``."""

_KEY: Final = "calipers_profile"
_BEGINNING: Final = 200
_MOST_BYTES: Final = 2**20
_WIDTH: Final = 110
_REMEDY: Final = "write profiles with `calipers profile`"


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile in a JSON file.

    Raises InputError with file, line and remedy for a file that is no profile, that another version wrote, or whose
    values do not fit.
    """
    source = os.fspath(path)
    with open_binary(Path(path)) as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise InputError(f"is larger than 1 MB, so it is no profile; {_REMEDY}", source=source)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"is not UTF-8 text, so it is no profile; {_REMEDY}", source=source) from None
    return parse_profile(text, source=source)


def is_profile(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as a profile does, whatever else is in it."""
    try:
        with Path(path).open("rb") as stream:
            return f'"{_KEY}"'.encode() in stream.read(_BEGINNING)
    except OSError:
        return False


def parse_profile(text: str, *, source: str = "profile") -> Profile:
    """Return the profile in a JSON document, which errors call ``source``. Raises InputError as ``read_profile``."""
    try:
        document = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error.msg}; {_REMEDY}", source=source, line=error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not readable JSON: {error}; {_REMEDY}", source=source) from None
    if not isinstance(document, dict) or _KEY not in document:
        raise InputError(f'is no profile: it lacks "{_KEY}"; {_REMEDY}', source=source, line=1)
    version = document.pop(_KEY)
    if version != VERSION:
        message = f'"{_KEY}" is {version!r:.40}; this version of calipers reads {VERSION}: fit the profile again'
        raise InputError(message, source=source, line=line_of(text, [_KEY]))
    try:
        profile: Profile = decode(Profile, document)
        require_possible(profile)
    except DecodingError as error:
        where = ".".join(error.path) or "the profile"
        raise InputError(f"{where} {error}", source=source, line=line_of(text, error.path)) from None
    return profile


def profile_as_text(profile: Profile) -> str:
    """Return a profile as the text of its file. Equal profiles give equal texts."""
    return _written({_KEY: VERSION, **_as_data(profile)}, 0) + "\n"


def write_profile(path: str | os.PathLike[str], profile: Profile) -> None:
    """Write a profile's file. Raises ConfigError if it cannot be written."""
    try:
        Path(path).write_text(profile_as_text(profile), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"{os.fspath(path)}: cannot be written ({error.strerror})") from error


def _as_data(value: Any) -> Any:
    """Return plain data without fields that have their default; floats have six significant digits."""
    if is_dataclass(value) and not isinstance(value, type):
        own = ((one, getattr(value, one.name)) for one in fields(value))
        return {one.name: _as_data(held) for one, held in own if not _is_default(one, held)}
    if isinstance(value, Mapping):
        return {key: _as_data(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return [_as_data(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _is_default(field: Field[Any], held: Any) -> bool:
    made = field.default if field.default_factory is MISSING else field.default_factory()
    return bool(held == made)


def _written(value: Any, depth: int) -> str:
    """Return JSON text in which objects and lists that fit on a line are on one line."""
    line = json.dumps(value, ensure_ascii=False)
    indent = "  " * (depth + 1)
    if not isinstance(value, dict | list) or not value or (depth and len(line) + len(indent) <= _WIDTH):
        return line
    if isinstance(value, dict):
        parts = [f"{indent}{json.dumps(key)}: {_written(one, depth + 1)}" for key, one in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{'  ' * depth}}}"
    lines = [""]
    for one in (_written(one, depth + 1) for one in value):
        fits = lines[-1] and len(indent) + len(lines[-1]) + len(one) + 3 <= _WIDTH and "\n" not in one
        lines[-1:] = [f"{lines[-1]}, {one}"] if fits else [*filter(None, lines[-1:]), one]
    return "[\n" + ",\n".join(f"{indent}{line}" for line in lines) + f"\n{'  ' * depth}]"


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in names if names.count(key) > 1)!r} occurs twice in one object")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
