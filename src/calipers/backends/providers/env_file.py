"""Reads keys and addresses from a ``.env`` file into the environment.

The format is what python-dotenv, shells and Docker have in common: ``NAME=value`` lines, ``export``, quotes, comments.
A value is never part of a message.
"""

from __future__ import annotations

import os
import re
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

from calipers.errors import ConfigError

VARIABLE: Final = "CALIPERS_ENV_FILE"
"""The environment variable that names the file in use."""
_LARGEST: Final = 2**20
_NAME: Final = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*")
_QUOTED: Final = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')[ \t]*(?:#.*)?""")
_ESCAPED: Final = re.compile(r"\\(.)")
_MEANT: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


def use_env_file(path: str | Path, environment: MutableMapping[str, str] = os.environ) -> None:
    """Set the variables of a ``.env`` file that the environment does not have yet, for judges' keys and addresses.

    Raises ConfigError with file and line for one that cannot be read.
    """
    for name, value in read_env_file(path).items():
        environment.setdefault(name, value)


def read_env_file(path: str | Path) -> dict[str, str]:
    """Return the variables of a ``.env`` file with keys and addresses; of a name that occurs twice, the last.

    Raises ConfigError with file and line for a line that sets no variable.
    """
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file (named by --env-file or {VARIABLE})") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    if len(data) > _LARGEST:
        raise ConfigError(f"{path}: is larger than {_LARGEST:,} bytes, which no file of variables is")
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, value = _variable(line.strip(), where=f"{path}:{number}")
            found[name] = value
    return found


def _variable(line: str, *, where: str) -> tuple[str, str]:
    named = _NAME.match(line)
    if named is None:
        raise ConfigError(f"{where}: is no variable; write NAME=value, or # before a comment")
    name, rest = named[1], line[named.end() :]
    if rest[:1] in {'"', "'"}:
        quoted = _QUOTED.fullmatch(rest)
        if quoted is None:
            raise ConfigError(f"{where}: {name} has a quote that does not end on this line, or text behind it")
        if quoted[2] is not None:
            return name, _checked(quoted[2].replace("\\'", "'").replace("\\\\", "\\"), name, where)
        _refuse_references(quoted[1], name, where)
        return name, _checked(_ESCAPED.sub(lambda one: _MEANT.get(one[1], one[0]), quoted[1]), name, where)
    value = re.split(r"(?:^|[ \t])#", rest, maxsplit=1)[0].strip()
    _refuse_references(value, name, where)
    return name, _checked(value, name, where)


def _refuse_references(value: str, name: str, where: str) -> None:
    if re.search(r"(?<!\\)\$\{", value):
        raise ConfigError(f"{where}: {name} refers to another variable (${{...}}); write its value, or single quotes")


def _checked(value: str, name: str, where: str) -> str:
    if "\0" in value:
        raise ConfigError(f"{where}: {name} holds the character U+0000, which no variable can have")
    return value
