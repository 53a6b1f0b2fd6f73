"""Reads ``calipers.toml``: the same keys as the flags, at the top level or in a table named for the command.

A file that ``--config`` or CALIPERS_CONFIG names is trusted. A file found in the working directory is not: it may have
come with somebody's data. It may not name a file that is written, and an address in it gets no key. Not responsible for
the environment (click reads it) or for what a value means (the option checks it).
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from calipers.cli.command_options import CommandOption
from calipers.errors import ConfigError

_DEFAULT = "calipers.toml"
_FOUND = "calipers.config.found_by_chance"


def is_from_unnamed_file(context: click.Context, name: str) -> bool:
    """Whether a command's option ``name`` has its value from a settings file that the user did not name."""
    return bool(context.meta.get(_FOUND)) and context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP


def use_settings_file(path: str | None, context: click.Context, app: click.Group) -> None:
    """Make the settings file's values the defaults of a command's ``context``.

    Prints to stderr which file was read.
    """
    context.meta[_FOUND] = path is None
    context.default_map = load_config(path, app)
    if context.default_map and not context.resilient_parsing:
        click.echo(f"Settings from {path or _DEFAULT}", err=True)


def load_config(path: str | None, app: click.Group) -> dict[str, dict[str, Any]]:
    """Return each command's defaults from the settings file, in click's ``default_map`` form; {} if there is no file.

    Raises ConfigError for a file that cannot be read, and for a key that is not a flag.
    """
    file = Path(path or _DEFAULT)
    if not file.is_file():
        if path is None:
            return {}
        raise ConfigError(f"{file}: no such file (named by --config or CALIPERS_CONFIG)")
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"), parse_float=_finite)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:  # the ValueError is also raised for an integer of thousands of digits
        raise ConfigError(f"{file}: not valid TOML: {error}") from error
    if _holds_nul(content):
        raise ConfigError(f"{file}: a value holds the character U+0000, which no setting can have")
    flags = {name: _flags(command) for name, command in app.commands.items()}
    known = {flag for names in flags.values() for flag in names}
    # `rubric` is both a command and a flag: a table is for the command, any other value for the flag.
    everywhere = {
        key: value
        for key, value in content.items()
        if key not in flags or (_flag(key) in known and not isinstance(value, Mapping))
    }
    _refuse_unknown(file, everywhere, known | flags.keys())
    defaults = {}
    for command, names in flags.items():
        table = {} if command in everywhere else content.get(command, {})
        if not isinstance(table, Mapping):
            raise ConfigError(f"{file}: [{command}] must be a table of settings for `calipers {command}`")
        _refuse_unknown(file, table, names, where=f"[{command}] ")
        settings = everywhere | dict(table)
        if path is None:
            _refuse_unnamed(file, app.commands[command], settings)
        defaults[command] = _defaults(app.commands[command], settings)
    return defaults


def _finite(number: str) -> float:
    """Read a float of the settings file. Raises ValueError for NaN and infinity, which no option accepts."""
    value = float(number)
    if not isfinite(value):
        raise ValueError(f"{number[:40]} is not a number that a setting can have")
    return value


def _holds_nul(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_nul, value.values()))
    if isinstance(value, list):
        return any(map(_holds_nul, value))
    return isinstance(value, str) and "\0" in value


def _refuse_unnamed(file: Path, command: click.Command, settings: Mapping[str, Any]) -> None:
    """Raise ConfigError if a file that the user did not name decides what is written, replaced, or unpickled."""
    names = {_flag(key) for key in settings}
    for inner in command.commands.values() if isinstance(command, click.Group) else (command,):
        for option in inner.params:
            flag = option.opts[-1].removeprefix("--")
            if isinstance(option, CommandOption) and option.named and flag in names:
                raise ConfigError(
                    f"{file}: {flag!r} names a file to write or to unpickle, and a settings file that was found in "
                    f"the working directory must not do that: give --{flag} on the command line, or --config {file}"
                )


def _defaults(command: click.Command, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``settings`` that are flags of the command; for a command group, a mapping for each command in it."""
    if isinstance(command, click.Group):
        return {name: _defaults(inner, settings) for name, inner in command.commands.items()}
    names = _flags(command)
    several = {parameter.name for parameter in command.params if getattr(parameter, "multiple", False)}
    return {
        names[_flag(key)]: [value] if names[_flag(key)] in several and isinstance(value, str) else value
        for key, value in settings.items()
        if _flag(key) in names
    }


def _flags(command: click.Command) -> dict[str, str]:
    """Return click's parameter name of each flag, by the flag as written in the file.

    For a command group, these are the flags of all its commands.
    """
    if isinstance(command, click.Group):
        return {flag: name for inner in command.commands.values() for flag, name in _flags(inner).items()}
    return {
        option.removeprefix("--"): str(parameter.name)
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
        if option.startswith("--")
    }


def _flag(key: str) -> str:
    return key.replace("_", "-")


def _refuse_unknown(
    file: Path, table: Mapping[str, Any], known: Mapping[str, Any] | set[str], *, where: str = ""
) -> None:
    for key in table:
        if _flag(key) not in known:
            near = difflib.get_close_matches(_flag(key), list(known), n=1)
            hint = f" Did you mean {near[0]}?" if near else f" Known: {', '.join(sorted(known))}."
            raise ConfigError(f"{file}: {where}unknown key {key!r}.{hint}")
