"""Turns a flat mapping of options into the arguments of ``Judge``, for flags, calipers.toml, verl's table and wrappers.

Flat names are those of the command line, with underscores.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from calipers.config.arguments import OURS
from calipers.config.flag_values import names_rubric_file
from calipers.config.option import Option, did_you_mean, nearest_name
from calipers.config.options import GROUPS, flat_options, options_in_group
from calipers.errors import ConfigError

P = ParamSpec("P")
S = TypeVar("S")
Made = TypeVar("Made")


@lru_cache(maxsize=1)
def recorded_options() -> tuple[Option, ...]:
    """Return the options that decide a judge's results, which the ledger records with each run."""
    return tuple(option for option in flat_options().values() if option.recorded)


def judge_arguments(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a judge's options by their flat names into the arguments of ``Judge``.

    ``{"orders": 2, "timeout": 30}`` becomes ``{"orders": 2, "calls": Calls(timeout=30)}``. The mapping may also hold a
    whole group; a flat name then overrides the group's field. Raises ConfigError for an unknown name.
    """
    known = flat_options()
    arguments: dict[str, Any] = {}
    within: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        if name in GROUPS or (name in known and not known[name].group):
            arguments[name] = value
        elif name in known:
            within.setdefault(known[name].group, {})[known[name].name] = value
        else:
            raise ConfigError(f"unknown option {name!r}.{did_you_mean(name, known.keys() | GROUPS.keys())}")
    for name in [*within, *(name for name in arguments if name in GROUPS and name not in within)]:
        whole = options_in_group(name, arguments.get(name))
        arguments[name] = whole and replace(whole, **within.get(name, {}))
    return arguments


def _settings_in(path: str | Path) -> dict[str, Any]:
    """Return what a settings file contains. Raises ConfigError for one that cannot be read."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        remedy = "name a settings file, or give a mapping such as {'judge': 'embedded'}"
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); {remedy}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


def options_of_settings(given: Mapping[str, Any] | str | Path) -> dict[str, Any]:
    """Return a judge's options by flat names from ``given``, whose names and values may also be those of calipers.toml.

    ``given`` may be the path of such a file.

    There ``weights`` is text ("2,1,1"), as after a flag, and ``param`` is a flag's name. Raises ConfigError for what is
    no mapping, without a judge, and for a text that cannot be read.
    """
    given = _settings_in(given) if isinstance(given, str | Path) else given
    if not isinstance(given, Mapping):
        raise ConfigError(f"options={given!r:.80}: give a mapping of names to values, as in {{'judge': 'embedded'}}")
    known = flat_options()
    flags = {option.flag.replace("-", "_"): option for option in known.values() if option.section}
    values: dict[str, Any] = {}
    for name, value in given.items():
        option = known.get(name) or flags.get(name.replace("-", "_"))
        if option is None or name in GROUPS:
            values[name] = value
        elif name in known:
            values[name] = _from_text(option, value)
        elif option.off and isinstance(value, bool):
            values[option.key] = not value
        else:
            values[option.key] = _from_texts(option, value)
    if "judge" not in values:
        raise ConfigError("no judge is named: give one, as in judge='embedded'")
    return values


def _from_text(option: Option, value: Any) -> Any:
    """Return the value of an option of a judge, which may be a flag's text.

    Texts of ``rubric`` are standards, unless they are the name of a file.
    """
    if option.reads is None:
        return value
    if option.many:
        return _from_texts(option, value) if isinstance(value, list) else value
    is_text = isinstance(value, str) and (option.key != "rubric" or names_rubric_file(value))
    return option.reads(value) if is_text else value


def _from_texts(option: Option, value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    if option.reads is None or not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return value
    return option.reads(texts)


def require_switched_on(flat: Mapping[str, Any]) -> None:
    """Raise ConfigError if ``flat``, by flat names, has options of a judge's ``resolve`` that is off."""
    most = flat_options()["most"]
    if flat.get("resolve") in (None, False) and flat.get("most") not in (None, most.default):
        raise ConfigError(
            f"most={flat['most']} has no effect without resolve=: give resolve=0.015 too, or leave out most="
        )


def with_flags(text: str) -> str:
    """Return an error about a judge's options with the flags in place of their names in Python: ``--orders 2`` for
    ``orders=2``, ``--timeout 0`` for ``calls: timeout=0`` and ``--grading mode=x`` for ``grading: mode=x``.
    """
    shown = [option for option in flat_options().values() if option.section]
    flags = {option.key: option for option in shown}
    flags |= {f"{option.group}: {option.name}": option for option in shown if option.group}
    names = "|".join(sorted(flags, key=len, reverse=True))
    fields = "|".join(option.key for option in shown if option.metavar and "=" in option.metavar)
    value = r"""'[^']*'|"[^"]*"|\{[^}]*\}|\[[^]]*\]|[^\s,;:)]*"""
    pattern = rf"""(?<![\w.`'"?&-])(?:({fields}): (?=\w+=)(\S+)|({names})=({value})|(\w+: \w+)(?=: ))"""

    def flag(match: re.Match[str]) -> str:
        if (option := flags.get(match[1] or match[3] or match[5])) is None:
            return match[0]
        value = match[2] or ("" if option.kind == "flag" else (match[4] or "").strip("'\""))
        return f"--{option.flag} {value}".rstrip()

    return re.sub(pattern, flag, text)


def takes_options(
    options: Callable[P, Made],
) -> Callable[[Callable[[S, Made], None]], Callable[Concatenate[S, P], None]]:
    """Decorate a method that takes an ``options`` object so that it takes the object's fields as arguments instead.

    An unknown argument raises a ConfigError that names the group it belongs to, or the nearest known argument.
    """
    expected = signature(options)

    def decorate(method: Callable[[S, Made], None]) -> Callable[Concatenate[S, P], None]:
        @wraps(method)
        def with_arguments(self: S, /, *args: P.args, **arguments: P.kwargs) -> None:
            for name in arguments:
                if name not in expected.parameters:
                    raise ConfigError(unknown_argument(name, expected.parameters))
            try:
                expected.bind(*args, **arguments)
            except TypeError as error:  # as Python words it, for the arguments that the caller knows
                raise TypeError(f"{type(self).__name__}(): {error}") from None
            method(self, options(*args, **arguments))

        self_parameter = next(iter(signature(method).parameters.values()))
        with_arguments.__signature__ = expected.replace(parameters=[self_parameter, *expected.parameters.values()])  # type: ignore[attr-defined]
        return with_arguments

    return decorate


def unknown_argument(name: str, known: Mapping[str, Any], *, owner: str = "Judge", place: str = "write {}") -> str:
    """Return the error for an argument that ``owner`` does not have: where a Judge has it, or the nearest name."""
    options, problem = flat_options(), f"{owner} has no argument {name!r}"
    is_elsewhere = name in options or name in GROUPS
    if near := name if is_elsewhere else nearest_name(name, known.keys() | options.keys()):
        guess = ":" if is_elsewhere else f". Did you mean {near}? Then"
        return f"{problem}{guess} {place.format(options[near].argument if near in options else f'{near}=')}"
    sent = place.format(f'calls={{"params": {{"{name}": ...}}}}')
    parameter = f"If it is a parameter of the request to the judge, {sent}. "
    return f"{problem}. {'' if name in OURS else parameter}Known: {', '.join(known)}."
