"""Defines options and arguments of commands: environment variables set them too, and the help has sections."""

from __future__ import annotations

import os
from collections.abc import Callable
from difflib import get_close_matches
from math import isfinite
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from calipers.errors import InputError
from calipers.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])

_REST = "Options"
SETTINGS_USED = "calipers.config.used"
"""In the context's ``meta``: by flag, the command that has its value from the settings file, and the value."""
VARIABLES_USED = "calipers.environment.used"
"""In the context's ``meta``: by flag, the environment variable that it has its value from, and the value."""
_NUMBERS = frozenset({"integer", "integer range", "float", "float range"})


class CommandOption(click.Option):
    """An option of a command, shown in the help under the heading ``section``; None means the first, general section.

    ``named`` marks an option that calipers.toml may set only if the user named that settings file. Such an option names
    an output file, allows a file to be replaced, or names a file whose contents are trusted more than text.
    """

    def __init__(self, *names: Any, section: str | None = None, named: bool = False, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.named = named
        if self.metavar is None and self.type.name in _NUMBERS:
            self.metavar = "N"  # click appends the range to the help

    def consume_value(self, ctx: click.Context, opts: Any) -> tuple[Any, ParameterSource]:
        """Return the value of a command-line option and its source; note it if the source is the settings file.

        Raises BadParameter for a list or a table in that file where the option takes one value.
        """
        value, source = super().consume_value(ctx, opts)
        if source is ParameterSource.ENVIRONMENT:
            ctx.meta.setdefault(VARIABLES_USED, {})[self.opts[-1].removeprefix("--")] = (str(self.envvar), value)
        if source is ParameterSource.DEFAULT_MAP:
            path = ctx.command_path.split()
            flag = self.opts[-1].removeprefix("--")
            ctx.meta.setdefault(SETTINGS_USED, {})[flag] = (path[1] if len(path) > 1 else "", value)
            for one in value if self.multiple and isinstance(value, list) else [value]:
                if not isinstance(one, str | int | float):
                    kind = (
                        "a list" if isinstance(one, list) else "a table" if isinstance(one, dict) else "a date or time"
                    )
                    must = "write one or several texts or numbers" if self.multiple else "write one text or number"
                    raise click.BadParameter(f"has {kind}; {must}", ctx=ctx, param=self)
        return value, source

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the value of a command-line option in its type; raise BadParameter, in words, if it has none."""
        if isinstance(self.type, click.types.BoolParamType) and isinstance(value, int | float):
            value = str(value)  # a number of the settings file, of which click takes 0 and 1
        if _would_be_cut(self.type, value) and not (self.count and value is True):
            value = str(value).lower() if isinstance(value, bool) else str(value)
        try:
            return super().type_cast_value(ctx, value)
        except click.BadParameter as error:
            meant = _what_was_meant(self.type, value)
            if meant is None:
                raise
            raise click.BadParameter(f"{value!r} is {meant}", ctx=ctx, param=error.param or self) from None


def _what_was_meant(kind: click.ParamType[Any], value: Any) -> str | None:
    """Return in words why ``value`` is not of this ``kind`` of option and what to write; None if click says it well."""
    if not isinstance(value, str):
        return None
    if isinstance(kind, click.Choice):
        near = get_close_matches(value, map(str, kind.choices), n=1)
        return f"not one of {', '.join(map(str, kind.choices))}; did you mean {near[0]}?" if near else None
    if isinstance(kind, click.types.IntParamType) and not _is_number(value, int):
        return "not a whole number; write it in digits, as in 2"
    if isinstance(kind, click.types.FloatParamType) and not _is_number(value, float):
        return "not a number; write it in digits, as in 0.5"
    if isinstance(kind, click.types.BoolParamType):
        return "neither true nor false; write true or false (in the environment also 1 or 0)"
    return None


def _would_be_cut(kind: click.ParamType[Any], value: Any) -> bool:
    """Whether a number of the settings file would become another one: 2.5 as a whole number 2, true as 1."""
    whole, number = isinstance(kind, click.types.IntParamType), isinstance(kind, click.types.FloatParamType)
    if isinstance(value, bool):
        return whole or number
    return whole and isinstance(value, float) and not value.is_integer()


def _is_number(text: str, kind: type[int | float]) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


class RegisteredName(click.ParamType):  # type: ignore[type-arg]  # older versions have no type arguments
    """A type of option values: a name in ``registry``, by calipers or another package. The help lists the names."""

    name = "name"

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value of a command-line option, a name, unchanged; fail if the registry does not have it."""
        if value not in self._registry:
            near = self._registry.nearest(str(value))
            meant = "" if near is None else f"; did you mean {near}?"
            self.fail(f"{value!r} is not one of {', '.join(self._registry.names())}{meant}", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's
        """Return the names that begin with what is typed of a command-line option's value."""
        return [CompletionItem(name) for name in self._registry.names() if name.startswith(incomplete)]

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002 - click's
        """Return all names in the registry, as the help of a command shows them."""
        return f"[{'|'.join(self._registry.names())}]"


def complete_judges(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's
    """Return the beginnings of judges' names, such as ``openai/``, for the Tab key after a command's ``--judge``."""
    from calipers.backends.providers.known import PROVIDERS  # noqa: PLC0415 - only for the Tab key

    names = ["embedded", *(f"{name}/" for name in (*PROVIDERS, "litellm")), "local:", "profile:", "scripted:"]
    return [name for name in names if name.startswith(incomplete)]


class FiniteRange(click.FloatRange):
    """A type of option values: a finite number in a range. NaN and infinity are refused, which click lets pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the value of a command-line option as a float; fail if it is not finite or outside the range."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class InputFile(click.ParamType):  # type: ignore[type-arg]  # as above
    """A file that must exist, which is checked before a missing option is reported; ``-`` and URLs are not checked."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002 - click's
        """Return a path from the command line unchanged. Raises InputError if there is no such file."""
        if value != "-" and "://" not in value and not os.path.exists(value):  # noqa: PTH110 - no error for any path
            raise InputError("there is no such file", source=value)
        return str(value)


class SectionedCommand(click.Command):
    """A command whose help shows its options under section headings; options without a section come first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a command's options to its help, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {_REST: []}
        for option in self.get_params(ctx):
            shown = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if shown is not None:
                sections.setdefault(getattr(option, "section", None) or _REST, []).append(shown)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def is_typed(name: str) -> bool:
    """Whether an option of the running command was given on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def is_from_settings_file(name: str) -> bool:
    """Whether an option of the running command was given by the settings file, such as calipers.toml."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.DEFAULT_MAP


def command_option(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Add an option to a command; the environment variable CALIPERS_NAME sets the option as well."""
    variable = "CALIPERS_" + names[-1].removeprefix("--").replace("-", "_").upper()
    return click.option(*names, cls=CommandOption, envvar=variable, **attributes)


def env_file_option(command: F) -> F:
    """Add ``--env-file`` to a command that asks a judge. The file is read before the command's other options."""
    added: F = command_option(
        "--env-file",
        metavar="FILE",
        named=True,
        is_eager=True,
        expose_value=False,
        callback=_use_env_file,
        help="Read keys and base URLs from this .env file (NAME=value) unless the environment has them.",
    )(command)
    return added


def _use_env_file(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value and not context.resilient_parsing:
        from calipers.backends.providers.env_file import use_env_file  # noqa: PLC0415 - few have such a file

        use_env_file(value)
