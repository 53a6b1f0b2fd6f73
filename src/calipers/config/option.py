"""What one option is: its default, type, range, unit and sentence, and the names it goes by outside Python.

An option is one field of a frozen dataclass, written with ``whole``, ``number``, ``choice``, ``flag`` or ``thing``. Not
responsible for which options there are (``options``).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, get_args

from calipers.errors import ConfigError
from calipers.registry import Registry
from calipers.types.encoding import finite_number

_KEY: Final = "calipers.option"
_GROUP: Final = "calipers.options"

THE_JUDGE, PANEL, QUESTION = "The judge", "Several judges", "The question"
READING, RESOLVING, REWARD = "Reading the answer", "Resolving close scores", "Scores to rewards"
LIMITS, DEFENCE, OUTPUT = "Limits and money", "Trajectories that address the judge", "Options"
SECTIONS = (THE_JUDGE, PANEL, QUESTION, READING, RESOLVING, REWARD, LIMITS, DEFENCE, OUTPUT)
"""The headings of the help, in their order."""

Kind: TypeAlias = Literal["whole", "number", "choice", "flag", "function", "object"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. ``name`` is its field's, ``group`` that of the argument of ``Judge`` which holds it, "" for none.

    ``low`` and ``high`` bound a number; ``above`` and ``below`` exclude the bound itself. ``choices`` are words that
    are values; or the names in ``registered`` are. ``check`` is called with a name for errors and the value. ``none``
    allows None where that is not the default.

    ``key`` is the flat name (for ``Judge.of``, in verl's table) where it differs from the field's. An option with a
    ``section`` has a flag: ``--flag`` where that differs from the key. A flag ``--no-...`` turns the option off, and
    ``off`` is its sentence. ``reads`` makes a value of the flag's text, or of all its texts if ``many``. ``named``:
    calipers.toml may set it only if the user named that file. ``unset`` tells people what holds if nothing is set.

    ``recorded`` marks what decides a judge's results: the ledger records it with each run, True under the flat name.
    ``link`` leads to its page in the docs. ``formerly`` is an argument of ``Judge`` that it has replaced.
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
    formerly: str = ""

    @property
    def argument(self) -> str:
        """How it is given to ``Judge``."""
        return f'{self.group}={{"{self.name}": ...}}' if self.group else f"{self.name}="

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "CALIPERS_" + self.flag.replace("-", "_").upper()

    @property
    def record(self) -> str:
        """The key under which the ledger keeps it; a dot leads into an object. Empty where it is not kept."""
        return self.key if self.recorded is True else self.recorded or ""

    @property
    def range(self) -> str:
        """What a value must be, in words."""
        match self.kind:
            case "choice":
                return f"one of {', '.join(self.choices or (self.registered.names() if self.registered else ()))}"
            case "flag":
                return "True or False"
            case "function":
                return "a function"
        noun = "a whole number" if self.kind == "whole" else "a number"
        low = "" if self.low is None else f" above {self.low:g}" if self.above else f" from {self.low:g}"
        to = "and below" if self.below else "and at most" if self.above else "to"
        high = "" if self.high is None else f" {to} {self.high:g}"
        return ", or ".join([noun + low + high, *self.choices])

    def require(self, value: object, *, within: str = "") -> None:
        """Raise ConfigError unless ``value`` can be this option's; ``within`` names its group there."""
        if value is None and (self.default is None or self.none):
            return
        called = f"{within}: {self.name}" if within else self.name
        if self.check is not None:
            self.check(called, value)
        if self.registered is not None and isinstance(value, str):
            self.registered.find(value)
        elif not self._holds(value):
            raise ConfigError(f"{called}={value!r}: it must be {self.range}")

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


def whole(default: int | None, help: str, **more: Any) -> Any:  # noqa: A002 - the option's own word
    """A field that holds a whole number."""
    return _field(default, Option(help=help, kind="whole", default=default, **more))


def number(default: float | None, help: str, **more: Any) -> Any:  # noqa: A002 - likewise
    """A field that holds a number."""
    return _field(default, Option(help=help, kind="number", default=default, **more))


def flag(default: bool | None, help: str, **more: Any) -> Any:  # noqa: A002, FBT001 - likewise
    """A field that is on or off."""
    return _field(default, Option(help=help, kind="flag", default=default, **more))


def choice(default: str | None, of: Any, help: str, **more: Any) -> Any:  # noqa: A002 - likewise
    """A field that holds one of some words: those of a Literal, or the names in a registry."""
    known = {"registered": of} if isinstance(of, Registry) else {"choices": get_args(of)}
    return _field(default, Option(help=help, kind="choice", default=default, **known, **more))


def function(help: str, **more: Any) -> Any:  # noqa: A002 - likewise
    """A field that holds a function, or None."""
    return _field(None, Option(help=help, kind="function", **more))


def thing(default: Any, help: str, **more: Any) -> Any:  # noqa: A002 - likewise
    """A field that holds anything else: text, a mapping, a function, an object."""
    return _field(default, Option(help=help, default=default, **more))


def required(help: str, **more: Any) -> dict[str, Any]:  # noqa: A002 - likewise
    """The metadata of a field without a default."""
    return {_KEY: Option(help=help, **more)}


def group(of: type[Group], default: Any = None) -> Any:
    """A field that holds options which belong together: an object, a mapping of its fields, or a lone value."""
    return field(default=default, metadata={_GROUP: of})


def _field(default: Any, option: Option) -> Any:
    return field(default=default, metadata={_KEY: option})


class Options:
    """The base of dataclasses whose fields are options."""

    def __repr__(self) -> str:
        """Name what differs from its default."""
        changed = [one.name for one in fields(self) if getattr(self, one.name) != one.default]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"

    def require(self, name: str = "") -> None:
        """Raise ConfigError for an option whose value cannot work; ``name`` is what it calls these options."""
        for option in options_of(type(self)):  # type: ignore[arg-type]  # mypy #11469
            option.require(getattr(self, option.name), within=name)


class Group(Options):
    """Options that belong together. ``alone`` names the field that a lone value stands for, as in ``panel="cycle"``."""

    alone: ClassVar[str] = ""

    @classmethod
    def of(cls, value: object, name: str) -> Self:
        """``value`` as these options: itself, a mapping of fields, a lone value, or None for the defaults.

        ``name`` is what an error calls it. Raises ConfigError for a field there is not.
        """
        match value:
            case None:
                return cls()
            case cls():
                return value
            case Mapping():
                known = [one.name for one in options_of(cls)]  # type: ignore[arg-type]  # mypy #11469
                for key in value:
                    if key not in known:
                        raise ConfigError(f"{name}: {key!r} is unknown.{did_you_mean(str(key), known)}")
                return cls(**value)
        if not cls.alone:
            raise ConfigError(f"{name}={value!r}: it must be a {cls.__name__}, or a mapping of its fields")
        return cls(**{cls.alone: value})


@lru_cache(maxsize=16)
def options_of(cls: Any) -> tuple[Option, ...]:
    """The options that the fields of ``cls`` are, in their order, without those of groups within it."""
    found = []
    for one in fields(cls):
        option: Option | None = one.metadata.get(_KEY)
        if option is not None:
            key = option.key or one.name
            found.append(replace(option, name=one.name, key=key, flag=option.flag or key.replace("_", "-")))
    return tuple(found)


@lru_cache(maxsize=4)
def groups_of(cls: Any) -> Mapping[str, type[Group]]:
    """The groups of options within ``cls``, by the names of their fields."""
    return {one.name: one.metadata[_GROUP] for one in fields(cls) if _GROUP in one.metadata}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that names what is nearest to ``name`` among ``known``, or all of it."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f" Did you mean {near[0]}?" if near else f" Known: {', '.join(names)}."
