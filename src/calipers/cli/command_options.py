"""Defines options and arguments of commands: environment variables set them too, and the help has sections."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from calipers.errors import InputError
from calipers.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])

_REST = "Options"
_ALL = "calipers.help.all"
_GUARDED = frozenset({"URL", "FILE", "DIR", "OUT", "NAME=VALUE", "JUDGE=FILE"})
"""Placeholders of options that name a file or an address, or change a request."""
_NUMBERS = frozenset({"integer", "integer range", "float", "float range"})


class CommandOption(click.Option):
    """An option of a command, shown in the help under the heading ``section``; None means the first, general section.

    ``guarded`` options are set by calipers.toml only if the user named that file: options that name a file or an
    address, or change a request. ``named`` guards an option that does not show it by its metavar or type. ``rare``
    options are shown by ``--help-all`` only.
    """

    def __init__(
        self, *names: Any, section: str | None = None, named: bool = False, rare: bool = False, **attributes: Any
    ) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.rare = rare
        self.guarded = named or self.metavar in _GUARDED or isinstance(self.type, click.Path | InputFile)
        if self.metavar is None and self.type.name in _NUMBERS:
            self.metavar = "N"  # click appends the range to the help

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the option's name for an error message, and where a value is from that nobody typed."""
        source = None if ctx is None or self.name is None else ctx.get_parameter_source(self.name)
        hint = super().get_error_hint(ctx)
        if source is ParameterSource.ENVIRONMENT:
            return f"{hint} (from the environment variable {self.envvar})"
        return f"{hint} (from the settings file)" if source is ParameterSource.DEFAULT_MAP else hint


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
    """A command whose help shows its everyday options under section headings; ``--help-all`` shows all of them."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.params.append(
            click.Option(
                ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all,
                help="Show all options and exit.",
            )
        )  # fmt: skip

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a command's options to its help, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {_REST: []}
        for option in self.get_params(ctx):
            shown = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if shown is not None and (ctx.meta.get(_ALL) or not getattr(option, "rare", False)):
                sections.setdefault(getattr(option, "section", None) or _REST, []).append(shown)
        for heading, records in sections.items():
            if not records:
                continue
            with formatter.section(heading):
                formatter.write_dl(records)


def _show_all(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's
    if value:
        context.meta[_ALL] = True
        click.echo(context.get_help())
        context.exit()


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
        from calipers.backends.providers.known import use_env_file  # noqa: PLC0415 - few have such a file

        use_env_file(value)
