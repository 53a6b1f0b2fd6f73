"""Reads ``calipers.toml``: the same keys as the flags, at the top level or in a table named for the command.

A file that ``--config`` or CALIPERS_CONFIG names is trusted. A file found in the working directory may have come with
somebody's data: it sets no address, no file and no request parameter.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from calipers.cli.command_options import VALUES_USED, CommandOption
from calipers.errors import ConfigError

_DEFAULT = "calipers.toml"
_FILE = "calipers.config.file"
_SECRETS: Final = re.compile(r"(?:.*-)?(?:key|token|secret|password|credential)s?", re.IGNORECASE)
"""Keys that hold a secret, if they are no flags."""
_AT: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_KEY_LINE: Final = re.compile(r"""\s*["']?([\w-]+)["']?\s*=""")
_TABLE_LINE: Final = re.compile(r"""\s*\[\s*["']?([\w-]+)""")
_OF_CALIPERS: Final = {"config": "CALIPERS_CONFIG", "log-level": "CALIPERS_LOG_LEVEL"}
"""Flags of ``calipers`` itself, which stand before a command, with their variables."""


@dataclass(frozen=True, slots=True)
class _File:
    """A settings file: its name, text and content, and whether the user named it."""

    name: str
    text: str
    content: Mapping[str, Any]
    named: bool

    def place(self, flag: str, command: str = "") -> str:
        """Return file and line of a key: in the table of ``command`` if it is there, else at the top."""
        table = ""
        found: dict[tuple[str, str], int] = {}
        for number, line in enumerate(self.text.split("\n"), 1):
            if opened := _TABLE_LINE.match(line):
                table = opened[1]
                found.setdefault((table, ""), number)
            elif key := _KEY_LINE.match(line):
                found.setdefault((table, _flag(key[1])), number)
        at = found.get((command, flag)) or found.get(("", flag)) or found.get((flag, ""))
        return f"{self.name}:{at}" if at else self.name


def use_settings_file(path: str | None, context: click.Context, app: click.Group) -> None:
    """Make the settings file's values the defaults of a command's ``context``, and print which file was read.

    Raises ConfigError for a file that cannot be read, a key that is no flag, and a value that only a named file may
    set.
    """
    file = context.meta[_FILE] = _read(path)
    if file is not None:
        context.default_map = {context.invoked_subcommand or "": _defaults(file, app, context.invoked_subcommand or "")}
        if not context.resilient_parsing:
            click.echo(f"Settings from {file.name}", err=True)


@contextmanager
def names_source_of_value(context: click.Context) -> Iterator[None]:
    """Around a run of ``context``'s commands: an error about a value that nobody typed says where it comes from."""
    try:
        yield
    except (click.BadParameter, ConfigError) as error:
        used: Mapping[str, tuple[str, str]] = context.meta.get(VALUES_USED, {})
        flag = _flag_at_fault(error, used)
        if flag is None:
            raise
        command, variable = used[flag]
        text = f"{flag}: {error.message}" if isinstance(error, click.BadParameter) else str(error)
        if variable:
            raise ConfigError(f"{text}\nIt comes from the environment variable {variable}.") from error
        raise ConfigError(f"{context.meta[_FILE].place(flag, command)}: {text}") from error


def _flag_at_fault(error: click.BadParameter | ConfigError, used: Mapping[str, Any]) -> str | None:
    """Return the flag that an error is about, if nobody typed its value: it begins with the flag or the argument."""
    if isinstance(error, click.BadParameter):
        names = [] if error.param is None else [name.removeprefix("--") for name in error.param.opts]
    else:
        named = re.match(r"(?:--)?([a-z][a-z_-]*)(?:[ =:]|$)", str(error))
        names = [_flag(named[1])] if named else []
    return next((name for name in names if name in used), None)


def _read(path: str | None) -> _File | None:
    """Return the settings file, or None if there is none. Raises ConfigError for one that cannot be read."""
    file = Path(path or _DEFAULT)
    if path is None and not file.is_file():
        return None
    try:
        text = file.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: is not UTF-8 text; save it as UTF-8") from error
    except FileNotFoundError as error:
        raise ConfigError(f"{file}: no such file (named by --config or CALIPERS_CONFIG)") from error
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        at = _AT.search(str(error))
        line = (at and at[1]) or text.rstrip().count("\n") + 1
        why = _AT.sub("", str(error))
        quotes = '; write text in quotes, as in judge = "embedded"' if why == "Invalid value" else ""
        raise ConfigError(f"{file}:{line}: not valid TOML: {why}{quotes}") from error
    return _File(str(file), text, content, named=path is not None)


def _defaults(file: _File, app: click.Group, command: str) -> dict[str, Any]:
    """Return the values of the file for a command, in click's ``default_map`` form. All keys are checked."""
    commands = {name: _options(command) for name, command in app.commands.items()}
    known = {flag for options in commands.values() for flag in options}
    # `rubric` is both a command and a flag: a table is for the command, any other value for the flag.
    everywhere = {
        key: value
        for key, value in file.content.items()
        if key not in commands or (_flag(key) in known and not isinstance(value, Mapping))
    }
    for key in everywhere:
        _require_known(file, key, known | commands.keys())
    for name, options in commands.items():
        table = {} if name in everywhere else file.content.get(name, {})
        if not isinstance(table, Mapping):
            raise ConfigError(f"{file.place(name)}: [{name}] must be a table of settings for `calipers {name}`")
        for key in table:
            _require_known(file, key, options.keys(), name)
    table = {} if command in everywhere else file.content.get(command, {})
    options = commands.get(command, {})
    given = {_flag(key): value for key, value in (everywhere | dict(table)).items() if _flag(key) in options}
    values = {str(options[flag].name): _value(file, command, options[flag], given[flag]) for flag in given}
    group = app.commands.get(command)
    return dict.fromkeys(group.commands, values) if isinstance(group, click.Group) else values


def _value(file: _File, command: str, option: click.Option, value: Any) -> Any:
    """Return a value of the file as the text that the environment would have, several in a list.

    Raises ConfigError for a value that no option has, and for one that only a file named by the user may set.
    """
    flag = option.opts[-1].removeprefix("--")
    where = file.place(flag, command)
    listed = value if option.multiple and isinstance(value, list) else [value]
    texts = [str(one).lower() if isinstance(one, bool) else str(one) for one in listed]
    for one, text in zip(listed, texts, strict=True):
        finite = not isinstance(one, float) or math.isfinite(one)
        if not isinstance(one, str | int | float) or "\0" in text or not finite:
            kinds = "texts or numbers" if option.multiple else "one text or number"
            raise ConfigError(f"{where}: {flag} must be {kinds}")
    guarded = isinstance(option, CommandOption) and option.guarded
    if not file.named and (guarded or any("://" in text for text in texts)):
        raise ConfigError(
            f"{where}: {flag!r} sets a file, an address or a request parameter, and a settings file that was found in "
            f"the working directory must not: give --{flag} on the command line, or --config {file.name} before the "
            "command"
        )
    return texts if option.multiple else texts[0]


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by flag; for a group, those of all its commands."""
    if isinstance(command, click.Group):
        return {flag: one for inner in command.commands.values() for flag, one in _options(inner).items()}
    options = (one for one in command.params if isinstance(one, click.Option))
    return {name.removeprefix("--"): one for one in options for name in one.opts if name.startswith("--")}


def _flag(key: str) -> str:
    return key.replace("_", "-")


def _require_known(file: _File, key: str, known: Any, command: str = "") -> None:
    flag = _flag(key)
    if flag in known:
        return
    where = f"{file.place(flag, command)}: {f'[{command}] ' if command else ''}{key!r}"
    if _SECRETS.fullmatch(flag):
        raise ConfigError(
            f"{where}: a secret does not belong in this file; set the provider's environment variable, such as "
            "OPENAI_API_KEY, or name a file that holds it with --env-file"
        )
    if flag in _OF_CALIPERS:
        raise ConfigError(
            f"{where} is no setting of this file; write calipers --{flag} ... before the command, or set "
            f"{_OF_CALIPERS[flag]}"
        )
    near = difflib.get_close_matches(flag, list(known), n=1)
    hint = f"Did you mean {near[0]}?" if near else f"calipers {command or 'COMMAND'} --help lists the flags."
    raise ConfigError(f"{where}: unknown key. {hint}")
