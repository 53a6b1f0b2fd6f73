"""Reads tables of a study's TOML file into settings, and notes every problem with its line in the file.

Not responsible for what settings mean, or for what fits together.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeVar

from calipers.config.option import did_you_mean, options_of
from calipers.errors import ConfigError
from calipers.study.toml_lines import DEEPEST, Place, lines_of, value_at
from calipers.types.counted import counted

Made = TypeVar("Made")
_AT: Final = re.compile(r"(.*) \(at line (\d+), column (\d+)\)")
"""How tomllib ends the sentence about what is no TOML."""
_TOO_LONG: Final = re.compile(r"\d[\d_]{4000,}")
_DEEP_KEY: Final = re.compile(r"(?<![\w.-])(?:[\w-]++[ \t]*+\.[ \t]*+){60}")
"""A dotted key that nests too deeply: tomllib would need memory with the square of its parts."""
_LONGEST_NAME: Final = 100


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
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}: cannot be read (it is not UTF-8 text)") from error
        except (OSError, ValueError) as error:  # a ValueError is a path that cannot be
            raise ConfigError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, source: str) -> Self:
        """Read the TOML of a study, which ``source`` names in errors. Raises ConfigError if it is none."""
        if deep := _DEEP_KEY.search(text):
            raise ConfigError(_too_deep(source, text.count("\n", 0, deep.start()) + 1))
        try:
            found = cls(tomllib.loads(text), source, text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(_not_toml(text, source, error)) from error
        found.require_shallow()
        return found

    def require_shallow(self) -> None:
        """Raise ConfigError where tables or lists of the study's file are nested deeper than any setting is."""
        for place, line in self._lines.items():
            if len(place) > DEEPEST:
                raise ConfigError(_too_deep(self.source, line))

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
        if not fitting:
            return ("arms",)
        number, inner = max(fitting)[1], place[2:]
        varied = ".".join(map(str, inner))
        is_varied = value_at(self.content, ("arms", number, "vary", varied)) is not None
        return ("arms", number, "vary", varied) if is_varied else ("arms", number, *inner)


def _not_toml(text: str, source: str, error: Exception) -> str:
    """Return the sentence for a text that tomllib refused with ``error``, with its line where that is known."""
    if isinstance(error, RecursionError):
        deep = (line for place, line in lines_of(text, {}).items() if len(place) > DEEPEST)
        return _too_deep(source, next(deep, 0))
    if told := _AT.fullmatch(str(error)):
        return f"{source}:{told[2]}: not valid TOML: {told[1]} (column {told[3]})"
    if not isinstance(error, tomllib.TOMLDecodeError) and (digits := _TOO_LONG.search(text)):
        line = text.count("\n", 0, digits.start()) + 1
        return f"{source}:{line}: a number has {len(digits[0]):,} digits; no setting needs more than 20"
    return f"{source}: not valid TOML: {error}"


def _too_deep(source: str, line: int) -> str:
    return f"{source}{f':{line}' if line else ''}: tables or lists are nested more than {DEEPEST} deep; no setting is"


def problem_of_name(name: object, of: str) -> str:
    """Return what is wrong with a name that a study's file gives, such as that of an arm; "" for nothing.

    Names are printed in tables and written to files. ``of`` says in the sentence what has the name.
    """
    if not isinstance(name, str) or not name.strip():
        return f"{of} needs a name, a text"
    if not name.isprintable():
        return f"name={name!r:.60}: {of} needs a name on one line, without control characters"
    if len(name) > _LONGEST_NAME:
        return f"name={name!r:.60}...: it has {len(name):,} characters, and {of} may have {_LONGEST_NAME}"
    return ""


def is_file(path: Path) -> bool:
    """Whether there is a file at ``path``, which a study names; not so at a path that cannot be, such as a long one."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def problem_of_path(value: object) -> str:
    """Return why a text of a study's file cannot be a path, on any machine; "" if it can be one."""
    if not isinstance(value, str) or not value:
        return "it must be a path, a text"
    return "" if value.isprintable() else "a path cannot have control characters"


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
