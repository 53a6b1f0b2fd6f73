"""Reads tables of a study's TOML file into settings, and notes every problem with its line in the file.

Not responsible for what settings mean, or for what fits together.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from calipers.config.option import did_you_mean, options_of
from calipers.errors import ConfigError

Made = TypeVar("Made")
_HEADER: Final = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY: Final = re.compile(r"\s*([A-Za-z0-9_.\"' -]+?)\s*=")


class Tables:
    """The tables of a study's file ``source``, with the ``problems`` that were found in them.

    Raises ConfigError for a file that cannot be read or is not TOML.
    """

    def __init__(self, path: Path) -> None:
        self.source = str(path)
        try:
            text = path.read_text(encoding="utf-8")
            self.content: Mapping[str, Any] = tomllib.loads(text)
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ConfigError(f"{path}: cannot be read ({why})") from error
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ConfigError(f"{path}: not valid TOML: {error}") from error
        self.text = text
        self.problems: list[str] = []
        self._lines = _lines_of(text)

    def made(self, kind: type[Made], *path: str, also: Iterable[str] = ()) -> Made:
        """Return the settings ``kind`` with the values of the study's table at ``path``; defaults where they are wrong.

        ``also`` are keys of the table that are read elsewhere.
        """
        table = self.table(*path)
        known = {option.name: option for option in options_of(kind)}  # type: ignore[arg-type]  # mypy #11469
        for key in table:
            if key not in known and key not in set(also):
                self.note(f"unknown key {key!r}.{did_you_mean(key, {*known, *also})}", *path, key)
        given = {key: value for key, value in table.items() if key in known}
        fitting = {}
        for key, value in given.items():
            try:
                known[key].require(value)
                fitting[key] = value
            except ConfigError as error:
                self.note(str(error), *path, key)
        return kind(**fitting)

    def table(self, *path: str) -> Mapping[str, Any]:
        """Return the study's table at ``path``; an empty one if there is none."""
        found: Any = self.content
        for part in path:
            found = found.get(part, {})
            if not isinstance(found, Mapping):
                self.note("it must be a table", *path)
                return {}
        return found  # type: ignore[no-any-return]

    def note(self, problem: str, *path: str) -> None:
        """Note a problem with what the study's file says at ``path``."""
        line = next((self._lines[path[:size]] for size in range(len(path), 0, -1) if path[:size] in self._lines), None)
        where = f"[{'.'.join(path[:-1])}] " if len(path) > 1 else ""
        self.problems.append(f"{self.source}{'' if line is None else f':{line}'}: {where}{problem}")

    def require_none(self) -> None:
        """Raise ConfigError with all problems of the study's file that were noted."""
        found = list(dict.fromkeys(self.problems))
        if len(found) == 1:
            raise ConfigError(found[0])
        if found:
            raise ConfigError(f"{self.source}: {len(found)} problems:" + "".join(f"\n  {one}" for one in found))


def read_table(kind: Any, table: object, where: str, problems: list[str]) -> Any:
    """Return the settings ``kind`` that a table of a study's TOML describes, or None with what is wrong with it.

    ``where`` names the table in ``problems``, to which a sentence is added for each problem.
    """
    if not isinstance(table, Mapping):
        problems.append(f"{where} must be a table")
        return None
    known = {option.name: option for option in options_of(kind)}
    found = [f"{where}: unknown key {key!r}.{did_you_mean(key, known)}" for key in table if key not in known]
    for key, value in table.items():
        try:
            if key in known:
                known[key].require(value)
        except ConfigError as error:
            found.append(f"{where}: {error}")
    problems += found
    return None if found else kind(**table)


def _lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Return the line on which each table and each key begins, as far as lines show it."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _parts(header[1])
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            for size in range(1, len(_parts(key[1])) + 1):
                found.setdefault((*table, *_parts(key[1])[:size]), number)
    return found


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in name.split("."))
