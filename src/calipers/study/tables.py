"""Reads tables of a study's TOML file into settings, and notes every problem with its line in the file.

Not responsible for what settings mean, or for what fits together.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from calipers.config.option import did_you_mean, options_of
from calipers.errors import ConfigError
from calipers.study.toml_lines import Place, lines_of, value_at
from calipers.types.counted import counted

Made = TypeVar("Made")


class Problem(NamedTuple):
    """What is wrong with a study's file, as a sentence, and the place in it; () if there is none.

    An arm is written ("arms", its number from 0), or ("arms", its name).
    """

    text: str
    place: Place = ()


class Tables:
    """The tables of a study's file: ``content``, the ``text`` and ``source`` it comes from, and ``problems`` found."""

    def __init__(self, content: Mapping[str, Any], source: str, text: str = "") -> None:
        self.content, self.source, self.text = content, source, text
        self.problems: list[Problem] = []
        self._lines = lines_of(text, content)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the file of a study. Raises ConfigError for one that cannot be read or is not TOML."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ConfigError(f"{path}: cannot be read ({why})") from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, source: str) -> Self:
        """Read the TOML of a study, which ``source`` names in errors. Raises ConfigError if it is none."""
        try:
            return cls(tomllib.loads(text), source, text)
        except (ValueError, RecursionError) as error:  # a ValueError is also an integer of thousands of digits
            raise ConfigError(f"{source}: not valid TOML: {error}") from error

    def made(self, kind: type[Made], *place: str, also: Collection[str] = ()) -> Made:
        """Return the settings ``kind`` with the values of the study's table at ``place``; defaults where it is wrong.

        ``also`` are keys of the table that are read elsewhere.
        """
        return kind(**self.values(kind, self.table(*place), *place, also=also))

    def values(
        self, kind: type[Made], table: Mapping[str, Any], *place: str | int, also: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return the values of a study's ``table`` that the settings ``kind`` take, and note what is wrong with it."""
        known = {option.name for option in options_of(kind)}  # type: ignore[arg-type]  # mypy #11469
        wrong = dict(problems_of_keys(kind, table, also))
        for key, problem in wrong.items():
            self.note(problem, *place, key)
        return {key: value for key, value in table.items() if key in known and key not in wrong}

    def table(self, *place: str) -> Mapping[str, Any]:
        """Return the study's table at ``place``; an empty one if there is none."""
        found: Any = self.content
        for number, part in enumerate(place, 1):
            found = found.get(part, {})
            if not isinstance(found, Mapping):
                self.problems.append(Problem(f"[{'.'.join(place[:number])}]: it must be a table", place[:number]))
                return {}
        return found  # type: ignore[no-any-return]

    def mapping(self, value: object, *place: str | int) -> Mapping[str, Any]:
        """Return a ``value`` of the study that is to be a table; an empty table if it is none, which is noted."""
        if isinstance(value, Mapping):
            return value
        if isinstance(place[-1], int):
            self.problems.append(Problem(f"{self.where(*place)}: it must be a table", place))
        else:
            self.note(f"{place[-1]} must be a table", *place)
        return {}

    def note(self, problem: str, *place: str | int) -> None:
        """Note a problem with a key of the study's file: what is wrong, without the table that holds the key."""
        where = self.where(*place[:-1])
        self.problems.append(Problem(f"{where}: {problem}" if where else problem, place))

    def where(self, *place: str | int) -> str:
        """Return what an error calls the study's table at ``place``."""
        if place[:1] != ("arms",) or len(place) < 2:
            return f"[{'.'.join(map(str, place))}]" if place else ""
        arm = place[1]
        name = value_at(self.content, ("arms", arm, "name")) if isinstance(arm, int) else arm
        if not isinstance(name, str) or not name:
            name = None
        inner = [f"judge {part + 1}" if isinstance(part, int) else part for part in place[2:]]
        return ": ".join([f"arm {name!r}" if name else f"arm {int(arm) + 1}", *inner])

    def located(self, problem: Problem) -> str:
        """Return a problem of the study with the file and the line that it is about."""
        place = self._in_file(problem.place)
        line = next((self._lines[place[:size]] for size in range(len(place), 0, -1) if place[:size] in self._lines), 0)
        return f"{self.source}{f':{line}' if line else ''}: {problem.text}"

    def require_none(self, problems: Iterable[Problem] | None = None, *, why: str = "") -> None:
        """Raise ConfigError with all ``problems`` of the study, by default those noted; ``why`` is their heading."""
        found = list(dict.fromkeys(map(self.located, self.problems if problems is None else problems)))
        if len(found) == 1:
            raise ConfigError(found[0])
        if found:
            heading = f"{self.source}: {f'{why}, ' if why else ''}{counted(len(found), 'problem')}:"
            raise ConfigError(heading + "".join(f"\n  {one}" for one in found))

    def _in_file(self, place: Place) -> Place:
        """Return a place with the number of its arm in the place of its name: a variant's begins with the arm's."""
        if place[:1] != ("arms",) or len(place) < 2 or isinstance(place[1], int):
            return place
        rows = self.content.get("arms")
        names = (
            [row.get("name") if isinstance(row, Mapping) else None for row in rows] if isinstance(rows, list) else []
        )
        fitting = [
            (len(name), number)
            for number, name in enumerate(names)
            if isinstance(name, str) and f"{place[1]} ".startswith(f"{name} ")
        ]
        return ("arms", max(fitting)[1], *place[2:]) if fitting else ("arms",)


def require_table(name: str, value: object) -> None:
    """Raise ConfigError unless a setting of a study is a table."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} must be a table")


def require_text(name: str, value: object) -> None:
    """Raise ConfigError unless a setting of a study is text."""
    if not isinstance(value, str):
        raise ConfigError(f"{name}={value!r:.60}: it must be text")


def require_line(name: str, value: object) -> None:
    """Raise ConfigError unless a setting of a study is one line of text that is safe to print."""
    if not isinstance(value, str) or not value.isprintable():
        what = "one line without control characters" if isinstance(value, str) else "text"
        raise ConfigError(f"{name}={value!r:.60}: it must be {what}")


def problems_of_keys(kind: Any, table: Mapping[str, Any], also: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield each key of a study's table that the settings ``kind`` do not take, and what is wrong with it.

    ``also`` are keys that are read elsewhere.
    """
    known = {option.name: option for option in options_of(kind)}
    for key, value in table.items():
        if key not in known:
            if key not in also:
                yield key, f"unknown key {key!r}.{did_you_mean(key, {*known, *also})}"
            continue
        try:
            known[key].require(value)
        except ConfigError as error:
            yield key, str(error)
