"""How one option of a judge is declared: its default, type, range and help sentence, and its names outside Python.

An option of a judge is a field of a frozen dataclass, declared with ``option``; its row in ``options.toml`` says all
but its type. Other settings (a study's) are declared in place, with ``setting``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias

from calipers.backends.names import name_without_password, split_judge_name, url_without_password
from calipers.config.arguments import LITELLM_NAMES
from calipers.errors import ConfigError
from calipers.registry import Registry
from calipers.types.encoding import finite_number, read_packaged_toml

_KEY: Final = "calipers.option"
_GROUP: Final = "calipers.options"

_TABLES: Final = read_packaged_toml("calipers.config", "options.toml")
SECTIONS: Final = tuple(filter(None, _TABLES))
"""The headings of the options in the help, in order: the tables of options.toml."""
_ROWS: Final = {key: {**row, "section": section} for section, rows in _TABLES.items() for key, row in rows.items()}

_LONGEST_VALUE: Final = 200
Kind: TypeAlias = Literal["whole", "number", "choice", "flag", "count", "function", "object"]


@dataclass(frozen=True, slots=True)
class Option:
    """How one option of a judge is declared. ``name`` is the dataclass field, ``group`` the argument of ``Judge`` that
    holds the option ("" if the option is an argument itself).

    ``low`` and ``high`` bound a number; ``above`` and ``below`` exclude the bound itself. A choice lists its allowed
    words in ``choices``, or takes them from the registry ``registered``. ``check`` is called with the option's name,
    for error messages, and the value. ``none`` allows None even if the default is something else.

    ``key`` is the flat name (for ``Judge.of`` and verl's table) where it differs from the field's. An option with a
    ``section`` has a flag: ``--flag``, where that differs from the key. A flag ``--no-...`` turns the option off, and
    ``off`` is its help sentence. ``reads`` turns the flag's text into the value (with ``many``, the list of all texts).
    ``named`` means that calipers.toml may set the option only if the user named that settings file. ``unset`` describes
    in the help what applies if the option is not set.

    ``recorded`` marks an option that decides a judge's results. The ledger records it with each run: under the flat
    name if True, else under the key given. ``link`` is its page in the docs.
    """

    help: str
    kind: Kind = "object"
    default: Any = None
    low: float | None = None
    high: float | None = None
    above: bool = False
    below: bool = False
    choices: tuple[str, ...] = ()
    registered: Registry | None = None
    check: Callable[[str, Any], None] | None = None
    none: bool = False
    name: str = ""
    group: str = ""
    key: str = ""
    flag: str = ""
    section: str = ""
    metavar: str | None = None
    reads: Callable[[Any], Any] | None = None
    many: bool = False
    named: bool = False
    off: str = ""
    unset: str = ""
    recorded: bool | str = False
    link: str = ""

    @property
    def argument(self) -> str:
        """How a caller passes this option to ``Judge``, such as ``calls={"timeout": ...}``."""
        return f'{self.group}={{"{self.name}": ...}}' if self.group else f"{self.name}="

    @property
    def record(self) -> str:
        """The key of this option in the ledger's record of a run, such as ``"resolve.most"``; empty if it is not
        recorded.
        """
        return self.key if self.recorded is True else self.recorded or ""

    @property
    def range(self) -> str:
        """The allowed values in words, such as ``"a number from 0 to 1"``, for help and error messages."""
        match self.kind:
            case "choice":
                return f"one of {', '.join(self.choices or (self.registered.names() if self.registered else ()))}"
            case "flag":
                return "True or False"
            case "function":
                return "a function"
        noun = "a whole number" if self.kind == "whole" else "a number"
        low = "" if self.low is None else f" above {self.low:g}" if self.above else f" from {self.low:g}"
        to = ("and below" if self.below else "and at most") if self.above else "to below" if self.below else "to"
        high = "" if self.high is None else f" {to} {self.high:g}"
        return ", or ".join([noun + low + high, *self.choices])

    def require(self, value: object, *, within: str = "") -> None:
        """Raise ConfigError unless ``value`` is allowed for this option of a judge.

        ``within`` is its group's name for the message.
        """
        if value is None and (self.default is None or self.none):
            return
        called = f"{within}: {self.name}" if within else self.name
        if self.check is not None:
            self.check(called, value)
        if self.registered is not None and isinstance(value, str):
            self.registered.find(value)
        elif not self._holds(value):
            raise ConfigError(f"{called}={_shown(value)}: it must be {self.range}")

    def _holds(self, value: object) -> bool:
        match self.kind:
            case "whole" if isinstance(value, int) and not isinstance(value, bool):
                holds = self._is_within(value)
            case "number":
                holds = (number := finite_number(value)) is not None and self._is_within(number)
            case "flag":
                holds = isinstance(value, bool)
            case "function":
                holds = callable(value)
            case _:
                holds = self.kind == "object"
        return holds or (isinstance(value, str) and value in self.choices)

    def _is_within(self, number: float) -> bool:
        high_enough = self.low is None or number > self.low or (number == self.low and not self.above)
        return high_enough and (self.high is None or number < self.high or (number == self.high and not self.below))


def _shown(value: object) -> str:
    """Return a wrong value of an option as an error shows it: a list of thousands would bury the sentence."""
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def option(key: str, **more: Any) -> Any:
    """Declare an option of a judge by its flat name; ``more`` is what only code can say of it, such as ``reads``."""
    row = {**_ROWS[key], **more, "key": key}
    default = row.pop("default", None)
    return setting(tuple(default) if isinstance(default, list) else default, row.pop("help"), **row)


def setting(default: Any, help: str, kind: Kind | None = None, **more: Any) -> Any:  # noqa: A002 - the option's own word
    """Declare a setting with its default, its sentence and its checks. ``kind`` follows from choices or a number."""
    if kind is None:
        numbers: dict[type, Kind] = {int: "whole", float: "number"}
        kind = "choice" if "choices" in more else numbers.get(type(default), "object")
    return field(default=default, metadata={_KEY: Option(help, kind, default, **more)})


def option_group(of: type[Group], default: Any = None) -> Any:
    """Declare an argument that holds a group of a judge's options: an object, a mapping, or a single value."""
    return field(default=default, metadata={_GROUP: of})


class Options:
    """The base of dataclasses whose fields are options of a judge."""

    def __repr__(self) -> str:
        """Show the options that differ from their defaults, without keys and passwords."""
        changed = [field.name for field in fields(self) if getattr(self, field.name) != field.default]  # type: ignore[arg-type]
        values = (
            f"{name}={'...' if name in {'api_key', 'headers'} else repr(_without_secrets(getattr(self, name)))}"
            for name in changed
        )
        return f"{type(self).__name__}({', '.join(values)})"

    def require(self, name: str = "") -> None:
        """Raise ConfigError if an option of a judge has a value that is not allowed.

        ``name`` is the group's name for messages.
        """
        for option in options_of(type(self)):  # type: ignore[arg-type]  # mypy #11469
            option.require(getattr(self, option.name), within=name)


class Group(Options):
    """A group of options that belong together, such as ``Panel``.

    ``alone`` is the field that a single value stands for: ``panel="cycle"`` means ``panel={"mode": "cycle"}``.
    """

    alone: ClassVar[str] = ""

    @classmethod
    def of(cls, value: object, name: str) -> Self:
        """Build this group of options from an object, a mapping of its fields, a single value, or None (the defaults).

        ``name`` is the group's name for error messages.
        """
        match value:
            case None:
                return cls()
            case cls():
                return value
            case Mapping():
                return cls(**value)
        if not cls.alone:
            raise ConfigError(f"{name}={value!r}: it must be a {cls.__name__}, or a mapping of its fields")
        return cls(**{cls.alone: value})


@lru_cache(maxsize=16)
def options_of(cls: Any) -> tuple[Option, ...]:
    """Return the options of a judge that the dataclass ``cls`` declares, in order, without those of its groups."""
    options = []
    for item in fields(cls):
        option: Option | None = item.metadata.get(_KEY)
        if option is not None:
            key = option.key or item.name
            options.append(replace(option, name=item.name, key=key, flag=option.flag or key.replace("_", "-")))
    return tuple(options)


@lru_cache(maxsize=4)
def groups_of(cls: Any) -> Mapping[str, type[Group]]:
    """Return the groups of a judge's options in the dataclass ``cls`` by the names of their fields."""
    return {field.name: field.metadata[_GROUP] for field in fields(cls) if _GROUP in field.metadata}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the known option or setting nearest to ``name``, or lists all known names."""
    names = sorted(known)
    near = nearest_name(name, names)
    shown = (option if option.isprintable() else repr(option) for option in names)
    return f" Did you mean {near}?" if near else f" Known: {', '.join(shown) or 'none'}."


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known option or setting that ``name`` is probably a misspelling of, or another library's name for."""
    meant = {"model": "judge", **LITELLM_NAMES}.get(name.removeprefix("--").replace("-", "_"))
    by_name = {option.removeprefix("--").replace("-", "_"): option for option in known}
    close = difflib.get_close_matches(name, by_name.values(), n=1, cutoff=0.75)
    return by_name.get(str(meant)) or next(iter(close), None)


def _without_secrets(value: Any) -> Any:
    """Return an option's value without passwords and keys in addresses."""
    match value:
        case str() if "://" in value:
            return name_without_password(value) if split_judge_name(value)[1] else url_without_password(value)
        case dict():
            return {_without_secrets(key): _without_secrets(item) for key, item in value.items()}
        case list():
            return [_without_secrets(item) for item in value]
        case tuple():
            return tuple(_without_secrets(item) for item in value)
    return value
