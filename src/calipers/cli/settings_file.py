"""Reads ``calipers.toml``: the same keys as the flags, at the top level or in a table named for the command.

A file that ``--config`` or CALIPERS_CONFIG names is trusted. A file found in the working directory is not: it may have
come with somebody's data. It may not name a file that is written, and an address in it gets no key. Not responsible for
the environment (click reads it) or for what a value means (the option checks it).
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from calipers.cli.command_options import SETTINGS_USED, VARIABLES_USED, CommandOption
from calipers.errors import ConfigError

_DEFAULT = "calipers.toml"
_FOUND = "calipers.config.found_by_chance"
_FILE = "calipers.config.file"
_SECRETS: Final = re.compile(r"(?:.*-)?(?:key|token|secret|password|credential)s?", re.IGNORECASE)
"""Keys that hold a secret, if they are no flags."""
_AT_LINE: Final = re.compile(r" \(at line (\d+), column \d+\)$")
_AT_END: Final = " (at end of document)"
_OF_CALIPERS: Final = {"config": "CALIPERS_CONFIG", "log-level": "CALIPERS_LOG_LEVEL"}
"""Flags of ``calipers`` itself, which stand before a command, with their variables."""
_SHORTEST_VALUE: Final = 3
"""Characters of a value that is recognised in an error's text."""


@dataclass(frozen=True, slots=True)
class _File:
    """A settings file: its name, text and content."""

    name: str
    text: str
    content: Mapping[str, Any]

    def place(self, *keys: str) -> str:
        """Return file and line of a key, as an error shows them; keys are compared as flags."""
        from calipers.study.reading import lines_of  # noqa: PLC0415 - only for an error

        for place, line in lines_of(self.text).items():
            if tuple(_flag(str(part)) for part in place) == tuple(map(_flag, keys)):
                return f"{self.name}:{line}"
        return self.name

    def place_of_flag(self, command: str, flag: str) -> str:
        """Return file and line of the value that a command's flag has from this file."""
        table = self.content.get(command)
        own = isinstance(table, Mapping) and flag in map(_flag, table)
        return self.place(command, flag) if own else self.place(flag)


def is_from_unnamed_file(context: click.Context, name: str) -> bool:
    """Whether a command's option ``name`` has its value from a settings file that the user did not name."""
    return bool(context.meta.get(_FOUND)) and context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP


def use_settings_file(path: str | None, context: click.Context, app: click.Group) -> None:
    """Make the settings file's values the defaults of a command's ``context``.

    Prints to stderr which file was read.
    """
    context.meta[_FOUND] = path is None
    file = _read(path)
    context.meta[_FILE] = file
    context.default_map = {} if file is None else _defaults_of_commands(file, app, named=path is not None)
    if context.default_map and not context.resilient_parsing:
        click.echo(f"Settings from {path or _DEFAULT}", err=True)


def load_config(path: str | None, app: click.Group) -> dict[str, dict[str, Any]]:
    """Return each command's defaults from the settings file, in click's ``default_map`` form; {} if there is no file.

    Raises ConfigError for a file that cannot be read, and for a key that is not a flag.
    """
    file = _read(path)
    return {} if file is None else _defaults_of_commands(file, app, named=path is not None)


@contextmanager
def names_settings_line(context: click.Context) -> Iterator[None]:
    """Around a run of ``context``'s commands: an error about a value of the settings file says its file and line."""
    try:
        yield
    except (click.BadParameter, ConfigError) as error:
        file: _File | None = context.meta.get(_FILE)
        used = context.meta.get(SETTINGS_USED, {})
        flag = _flag_at_fault(error, used)
        if file is None or flag is None:
            variables = context.meta.get(VARIABLES_USED, {})
            if isinstance(error, ConfigError) and (named := _variable_at_fault(str(error), variables)) is not None:
                raise ConfigError(f"{error}\nIt comes from the environment variable {named}.") from error
            raise
        text = f"{flag}: {error.message}" if isinstance(error, click.BadParameter) else str(error)
        place = file.place_of_flag(used[flag][0], flag)
        raise ConfigError(text if text.startswith(f"{file.name}:") else f"{place}: {text}") from error


def _flag_at_fault(error: click.BadParameter | ConfigError, used: Mapping[str, tuple[str, Any]]) -> str | None:
    """Return which of the flags with a value of the settings file the error is about, or None."""
    if isinstance(error, click.BadParameter):
        names = [] if error.param is None else [name.removeprefix("--") for name in error.param.opts]
        return next((name for name in names if name in used), None)
    text = str(error)
    for flag in used:
        if re.search(rf"(?:--|^){re.escape(flag)}(?![\w-])", text):
            return flag
    return next((flag for flag, (_, value) in used.items() if _says_value(text, value)), None)


def _variable_at_fault(text: str, used: Mapping[str, tuple[str, Any]]) -> str | None:
    """Return the environment variable with the value that an error's ``text`` is about, or None."""
    for flag, (variable, value) in used.items():
        if text.startswith(f"--{flag} ") or _says_value(text, value):
            return variable
    return None


def _says_value(text: str, value: Any) -> bool:
    """Return whether an error's text has a value, or one of several, whole or without its password."""
    from calipers.backends.names import name_without_password, url_without_password  # noqa: PLC0415 - only for an error

    texts = [str(one) for one in (value if isinstance(value, list | tuple) else [value])]
    return any(
        _says(text, one) for one in (*texts, *map(name_without_password, texts), *map(url_without_password, texts))
    )


def _says(text: str, value: str) -> bool:
    """Return whether an error's text has a value in quotes, or a longer one that is not part of another word."""
    if repr(value) in text:
        return True
    return len(value) >= _SHORTEST_VALUE and _has_word(text, value)


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) is not None


def _read(path: str | None) -> _File | None:
    """Return the settings file, or None if there is none. Raises ConfigError for one that cannot be read."""
    file = Path(path or _DEFAULT)
    if path is None and not file.is_file():
        return None
    try:
        text = file.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: is not UTF-8 text; save it as UTF-8") from error
    except FileNotFoundError as error:
        raise ConfigError(f"{file}: no such file (named by --config or CALIPERS_CONFIG)") from error
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # the ValueError is also raised for an integer of thousands of digits
        at = _AT_LINE.search(str(error))
        where = f"{file}:{at[1]}" if at is not None else _place_of_number(error, file, text)
        said = _AT_LINE.sub("", str(error))
        if said.endswith(_AT_END):
            said, where = said.removesuffix(_AT_END), f"{file}:{text.rstrip().count(chr(10)) + 1}"
        quotes = '; write text in quotes, as in judge = "embedded"' if said == "Invalid value" else ""
        raise ConfigError(f"{where}: not valid TOML: {said}{quotes}") from error
    read = _File(str(file), text, content)
    for key, value in content.items():
        if _holds_nul(value):
            raise ConfigError(f"{read.place(key)}: a value holds the character U+0000, which no setting can have")
    return read


def _defaults_of_commands(file: _File, app: click.Group, *, named: bool) -> dict[str, dict[str, Any]]:
    flags = {name: _flags(command) for name, command in app.commands.items()}
    known = {flag for names in flags.values() for flag in names}
    # `rubric` is both a command and a flag: a table is for the command, any other value for the flag.
    everywhere = {
        key: value
        for key, value in file.content.items()
        if key not in flags or (_flag(key) in known and not isinstance(value, Mapping))
    }
    _refuse_unknown(file, everywhere, known | flags.keys())
    defaults = {}
    for command, names in flags.items():
        table = {} if command in everywhere else file.content.get(command, {})
        if not isinstance(table, Mapping):
            where = file.place(command)
            raise ConfigError(f"{where}: [{command}] must be a table of settings for `calipers {command}`")
        _refuse_inner_tables(file, command, app.commands[command], table)
        _refuse_unknown(file, table, names, command)
        settings = everywhere | dict(table)
        if not named:
            _refuse_unnamed(file, command, app.commands[command], settings)
        defaults[command] = _defaults(app.commands[command], settings)
    return defaults


def _finite(number: str) -> float:
    """Read a float of the settings file. Raises ValueError for NaN and infinity, which no option accepts."""
    value = float(number)
    if not isfinite(value):
        raise _NotFiniteError(number)
    return value


class _NotFiniteError(ValueError):
    """A number of the settings file is NaN or infinite; ``number`` is its text."""

    def __init__(self, number: str) -> None:
        super().__init__(f"{number[:40]} is not a number that a setting can have")
        self.number = number


def _place_of_number(error: Exception, file: Path, text: str) -> str:
    """Return the file and, for a number that is not finite, the first line with it, which tomllib does not say."""
    number = error.number if isinstance(error, _NotFiniteError) else None
    lines = () if number is None else enumerate(text.split("\n"), 1)
    return next((f"{file}:{at}" for at, line in lines if number and _has_word(line, number)), str(file))


def _holds_nul(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_nul, value.values()))
    if isinstance(value, list):
        return any(map(_holds_nul, value))
    return isinstance(value, str) and "\0" in value


def _refuse_unnamed(file: _File, name: str, command: click.Command, settings: Mapping[str, Any]) -> None:
    """Raise ConfigError if a file that the user did not name decides what is written, replaced, or unpickled."""
    names = {_flag(key) for key in settings}
    for inner in command.commands.values() if isinstance(command, click.Group) else (command,):
        for option in inner.params:
            flag = option.opts[-1].removeprefix("--")
            if isinstance(option, CommandOption) and option.named and flag in names:
                raise ConfigError(
                    f"{file.place_of_flag(name, flag)}: {flag!r} names a file to write or to unpickle, and a settings "
                    "file that was found in the working directory must not do that: give "
                    f"--{flag} on the command line, or --config {file.name}"
                )


def _defaults(command: click.Command, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``settings`` that are flags of the command; for a command group, a mapping for each command in it."""
    if isinstance(command, click.Group):
        return {name: _defaults(inner, settings) for name, inner in command.commands.items()}
    names = _flags(command)
    several = {parameter.name for parameter in command.params if getattr(parameter, "multiple", False)}
    return {
        names[_flag(key)]: [value] if names[_flag(key)] in several and not isinstance(value, list) else value
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


def _refuse_inner_tables(file: _File, name: str, command: click.Command, table: Mapping[str, Any]) -> None:
    """Raise ConfigError for a table such as ``[rubric.draft]``: the commands of ``calipers rubric`` share one."""
    for key, value in table.items():
        if isinstance(command, click.Group) and key in command.commands and isinstance(value, Mapping):
            raise ConfigError(
                f"{file.place(name, key)}: there is no table [{name}.{key}]; write the flags of "
                f"`calipers {name} {key}` in the table [{name}]"
            )


def _refuse_unknown(file: _File, table: Mapping[str, Any], known: Mapping[str, Any] | set[str], *command: str) -> None:
    for key in table:
        flag = _flag(key)
        if flag in known:
            continue
        where = f"{file.place(*command, key)}: {''.join(f'[{name}] ' for name in command)}"
        if _SECRETS.fullmatch(flag):
            raise ConfigError(
                f"{where}{key!r}: a secret does not belong in this file; set the provider's environment variable, such "
                "as OPENAI_API_KEY, or name a file that holds it with --env-file"
            )
        if flag in _OF_CALIPERS:
            raise ConfigError(
                f"{where}{key!r} is no setting of this file; write calipers --{flag} ... before the command, or set "
                f"{_OF_CALIPERS[flag]}"
            )
        near = difflib.get_close_matches(flag, list(known), n=1)
        shown = " ".join(("calipers", *(command or ("COMMAND",)), "--help"))
        hint = f"Did you mean {near[0]}?" if near else f"A key is a flag without --; {shown} lists them."
        raise ConfigError(f"{where}unknown key {key!r}. {hint}")
