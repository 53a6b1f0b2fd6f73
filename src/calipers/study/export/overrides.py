"""Settings of verl as overrides for its command line, which hydra parses, in a file that bash reads.

Pure. Not responsible for which settings a run has (``run_settings``).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from calipers.errors import ConfigError

_PLAIN: Final = re.compile(r"[A-Za-z_/][\w/.:+%@-]*", re.ASCII)
"""Texts that hydra takes as they are, without quotes."""
_WORDS: Final = frozenset({"null", "true", "false", "nan", "inf"})
_INNER_KEY: Final = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_KEY: Final = re.compile(r"[+~]{0,2}[A-Za-z_][\w@/-]*(\.[\w-]+)*")


@dataclass(frozen=True, slots=True)
class InStudy:
    """A path in the folder of the exported study, wherever that is on the node: a value of one of verl's settings."""

    path: str


def override(key: str, value: object) -> str:
    """Return a setting of verl as hydra's command line takes it, without InStudy. Raises ConfigError for a key that
    hydra cannot read.
    """
    _require_key(key)
    return f"{key}={_value(value)}"


def overrides_file(settings: Mapping[str, Any]) -> str:
    """Return the text of a bash file that sets the array ``overrides`` to a run's settings of verl.

    The variable STUDY is the study's folder there. Raises ConfigError for a key that hydra cannot read.
    """
    lines = "".join(f"  {line}\n" for line in _lines(settings))
    return f"overrides=(\n{lines})\n"


def _lines(settings: Mapping[str, Any]) -> Iterator[str]:
    part = None
    for key in sorted(settings, key=lambda key: key.lstrip("+~")):
        value, first = settings[key], key.lstrip("+~").partition(".")[0]
        if part not in (None, first):
            yield ""
        part = first
        if isinstance(value, InStudy):
            _require_key(key)
            yield f"\"{key}='$STUDY/{value.path}'\""
        else:
            yield shlex.quote(override(key, value))


def _value(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case list() | tuple():
            return f"[{','.join(map(_value, value))}]"
        case dict():
            return f"{{{','.join(f'{_inner_key(key)}:{_value(item)}' for key, item in value.items())}}}"
    raise ConfigError(f"{value!r}: verl's configuration cannot hold {type(value).__name__}")


def _inner_key(key: object) -> str:
    if not isinstance(key, str) or not _INNER_KEY.fullmatch(key):
        raise ConfigError(f"{key!r}: verl's command line cannot hold it as the name of a value inside another")
    return key


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    # OmegaConf reads ${ as the beginning of an interpolation, and hydra ' as the end of the text. For both, backslashes
    # are escapes right before these, and themselves elsewhere.
    literal = re.sub(r"(\\*)\$\{", lambda found: found[1] * 2 + "\\${", text)
    return "'" + re.sub(r"(\\*)('|\Z)", lambda found: found[1] * 2 + ("\\'" if found[2] else ""), literal) + "'"


def _require_key(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise ConfigError(f"{key!r}: it is no name of a setting of verl")
