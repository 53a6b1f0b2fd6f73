"""Reads ``calipers.toml``: the same keys as the flags, at the top level or in a table named for the command.

A file that ``--config`` or CALIPERS_CONFIG names is trusted. A file found in the working directory may have come with
somebody's data: it sets no address, no file and no request parameter.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from calipers.cli.options import CommandOption
from calipers.config.option import nearest_name
from calipers.errors import ConfigError

_FOUND: Final = "calipers.toml"
_SECRETS: Final = re.compile(r"(?:.*-)?(?:key|token|secret|password|credential)s?", re.IGNORECASE)
_OF_CALIPERS: Final = {"config": "CALIPERS_CONFIG", "log-level": "CALIPERS_LOG_LEVEL"}
"""Flags of ``calipers`` itself, which stand before a command, with their variables."""
_PREFIX: Final = "CALIPERS_"


def use_settings_file(path: str | None, context: click.Context, app: click.Group) -> None:
    """Make the settings file's values the defaults of a command's ``context``, and print which file was read.

    Raises ConfigError for a file that cannot be read, a key that is no flag, and a value that only a named file may
    set.
    """
    file, command = Path(path or _FOUND), context.invoked_subcommand or ""
    if path is None and not file.is_file():
        return
    try:
        content = _read(file)
        context.default_map = {command: _defaults(content, app, command, trusted=path is not None)}
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    if not context.resilient_parsing and command in app.commands:
        used = {*flags_of(app.commands[command]), *app.commands}
        unused = ", ".join(key for key in content if _flag(key) not in used)
        click.echo(f"Settings from {file}{f' (calipers {command} does not use {unused})' if unused else ''}", err=True)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise ConfigError("no such file (named by --config or CALIPERS_CONFIG)") from error
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8 text; save it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        quotes = '; write text in quotes, as in judge = "embedded"' if "Invalid value" in str(error) else ""
        raise ConfigError(f"not valid TOML: {error}{quotes}") from error


def _defaults(content: Mapping[str, Any], app: click.Group, command: str, *, trusted: bool) -> dict[str, Any]:
    """Return the values of the file for a command, in click's ``default_map`` form. All keys are checked."""
    commands = {name: flags_of(entry) for name, entry in app.commands.items()}
    known = {flag for options in commands.values() for flag in options}
    # `rubric` is both a command and a flag: a table is for the command, any other value for the flag.
    tables = {key: value for key, value in content.items() if key in commands and isinstance(value, Mapping)}
    everywhere = {key: value for key, value in content.items() if key not in tables}
    for key in everywhere:
        if key in commands and key not in known:
            raise ConfigError(f"[{key}] must be a table of settings for `calipers {key}`")
        _require_known(key, known | commands.keys())
    for name, table in tables.items():
        for key in table:
            _require_known(key, commands[name], name)
    options = commands.get(command, {})
    flags = {_flag(key): value for key, value in (everywhere | dict(tables.get(command, {}))).items()}
    values = {
        str(options[flag].name): _value(flag, options[flag], value, trusted=trusted)
        for flag, value in flags.items()
        if flag in options
    }
    group = app.commands.get(command)
    return dict.fromkeys(group.commands, values) if isinstance(group, click.Group) else values


def _value(flag: str, option: click.Option, value: Any, *, trusted: bool) -> Any:
    """Return a value of the file as the text that the environment would have, several in a list.

    Raises ConfigError for a value that no option has, and for one that only a file named by the user may set.
    """
    listed = value if option.multiple and isinstance(value, list) else [value]
    texts = [str(item).lower() if isinstance(item, bool) else str(item) for item in listed]
    for item, text in zip(listed, texts, strict=True):
        finite = not isinstance(item, float) or math.isfinite(item)
        if not isinstance(item, bool if option.is_flag else str | int | float) or "\0" in text or not finite:
            form = "true or false" if option.is_flag else f"one number or text ({option.metavar})"
            form = f'texts, as in {flag} = ["{option.metavar}"]' if option.multiple else form
            raise ConfigError(f"{flag!r} must be {form}")
    guarded = isinstance(option, CommandOption) and option.guarded
    if not trusted and (guarded or any("://" in text for text in texts)):
        raise ConfigError(
            f"{flag!r} may not be set here: this file was found in the working directory, and only a file that you "
            f"name sets files, addresses and request parameters. Write calipers --config {_FOUND} ..., or give --{flag}"
        )
    return texts if option.multiple else texts[0]


def flags_of(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by flag; for a group, those of all its commands."""
    if isinstance(command, click.Group):
        return {flag: flag_type for inner in command.commands.values() for flag, flag_type in flags_of(inner).items()}
    options = (param for param in command.params if isinstance(param, click.Option))
    return {name.removeprefix("--"): option for option in options for name in option.opts if name.startswith("--")}


def _flag(key: str) -> str:
    return key.replace("_", "-")


def _require_known(key: str, known: Collection[str], command: str = "") -> None:
    flag = _flag(key)
    if flag in known:
        return
    where = f"{f'[{command}] ' if command else ''}{key!r}"
    if _SECRETS.fullmatch(flag):
        raise ConfigError(
            f"{where}: a secret does not belong in this file; set the provider's environment variable, such as "
            "OPENAI_API_KEY"
        )
    if flag in _OF_CALIPERS:
        raise ConfigError(f"{where}: write calipers --{flag} ... before the command, or set {_OF_CALIPERS[flag]}")
    near = nearest_name(flag, known)
    hint = f"Did you mean {near}?" if near else f"calipers {command or 'COMMAND'} --help lists the flags."
    raise ConfigError(f"{where}: unknown key. {hint}")


def mistyped_variables(app: click.Group) -> Iterator[tuple[str, str]]:
    """Return each variable of the environment that is almost one of calipers', with the one that was probably meant."""
    variables = [name.removeprefix(_PREFIX) for name in os.environ if name.startswith(_PREFIX)]
    known = {_flag(flag) for command in app.commands.values() for flag in flags_of(command)} if variables else set()
    known |= set(_OF_CALIPERS)
    for name in variables:
        flag = _flag(name.lower())
        if flag not in known and (near := nearest_name(flag, known)):
            yield _PREFIX + name, _PREFIX + near.replace("-", "_").upper()
