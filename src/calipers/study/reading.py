"""Reads the tables of a TOML file into dataclasses of options, and notes what is wrong with its line.

Such a file may come from a stranger: only a regular file is read, and a name in it can be that of a folder.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeAlias, TypeVar

from calipers.config.option import did_you_mean, options_of
from calipers.errors import ConfigError, InputError

Made = TypeVar("Made")
Place: TypeAlias = tuple[str | int, ...]
"""The keys that lead to a value of a TOML file; a table in a list has a number from 0."""
_LARGEST: Final = 2**20
_NAME: Final = re.compile(r"[^\W_](?:[\w .,=+-]{0,98}[\w=+-])?")
_PART: Final = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_LINE: Final = re.compile(rf"[ \t]*(\[\[?)?[ \t]*({_PART}(?:[ \t]*\.[ \t]*{_PART})*)[ \t]*(?:\]|=)")
_AT: Final = re.compile(r"(.*) \(at line (\d+), column \d+\)")


@dataclass(slots=True)
class TomlFile:
    """A TOML file that is being read: its name, text and content, and what was found to be wrong."""

    name: str
    text: str
    content: dict[str, Any]
    problems: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file. Raises InputError if it is no regular file of TOML."""
        try:
            if not path.is_file():
                raise InputError(f"{path}: there is no such file")
            if path.stat().st_size > _LARGEST:
                raise InputError(f"{path}: it is larger than {_LARGEST:,} bytes; no such file is")
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error
        except ValueError as error:
            raise InputError(f"{path}: it is not UTF-8 text") from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, name: str) -> Self:
        """Read a text. Raises InputError if it is no TOML."""
        try:
            return cls(name, text, tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            at = _AT.fullmatch(str(error))
            raise InputError(f"{name}:{at[2]}: not valid TOML: {at[1]}" if at else f"{name}: {error}") from error
        except (RecursionError, ValueError) as error:  # nested too deeply, or a number of thousands of digits
            raise InputError(f"{name}: not valid TOML: {error}") from error

    def note(self, problem: str, *place: str | int) -> None:
        """Note what is wrong at a place in the file, which is then named with its line."""
        lines = lines_of(self.text)
        line = next((lines[place[:size]] for size in range(len(place), 0, -1) if place[:size] in lines), None)
        names = [str(part + 1) if isinstance(part, int) else part for part in place]
        where = f"{'.'.join(names)}: " if names else ""
        line_of_problem = f"{self.name}{f':{line}' if line else ''}: {where}{problem}"
        if line_of_problem not in self.problems:
            self.problems.append(line_of_problem)

    def made(self, kind: type[Made], table: object, *place: str | int, also: Collection[str] = ()) -> Made:
        """Return the options ``kind`` with the values of the table at ``place``; defaults where it is wrong.

        ``also`` are keys of the table that are read elsewhere.
        """
        if not isinstance(table, Mapping):
            self.note("it must be a table", *place)
            return kind()
        known = {option.name: option for option in options_of(kind)}  # type: ignore[arg-type]  # mypy #11469
        fields: dict[str, Any] = {}
        for key, value in table.items():
            if key in also:
                continue
            if key not in known:
                self.note(f"unknown key {key!r:.60}.{did_you_mean(key[:60], {*known, *also})}", *place, key)
                continue
            try:
                known[key].require(value)
                fields[key] = value
            except ConfigError as error:
                self.note(str(error), *place, key)
        return kind(**fields)

    def require_name(self, name: object, *place: str | int) -> None:
        """Note a name that is none: names are printed, and those of folders."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            self.note(
                f"name={name!r:.60}: a name has at most 100 letters, digits, spaces and . , = + - _, begins with a "
                "letter or digit, and does not end in a mark",
                *place,
            )

    def require_none_wrong(self) -> None:
        """Raise InputError with all problems that were noted."""
        if len(self.problems) == 1:
            raise InputError(self.problems[0])
        if self.problems:
            raise InputError(f"{len(self.problems)} problems:" + "".join(f"\n  {problem}" for problem in self.problems))


def lines_of(text: str) -> dict[Place, int]:
    """Return the line on which each table and key of a TOML file begins, except within braces and brackets."""
    lines: dict[Place, int] = {}
    rows: dict[Place, int] = {}
    table: Place = ()
    for number, line in enumerate(text.splitlines(), 1):
        if not (match := _LINE.match(line)):
            continue
        place: Place = () if match[1] else table
        for part in re.findall(_PART, match[2]):
            place = (*place, part.strip("\"'"))
            if match[1] == "[[" and len(place) == len(re.findall(_PART, match[2])):
                rows[place] = rows.get(place, -1) + 1
            if match[1] and place in rows:
                lines.setdefault(place, number)
                place = (*place, rows[place])
            lines.setdefault(place, number)
        if match[1]:
            table = place
    return lines
