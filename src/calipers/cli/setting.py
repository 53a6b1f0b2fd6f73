"""An option of a command that the environment can set, too, and help that shows options in sections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from calipers.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])

_REST = "Options"
_NUMBERS = frozenset({"integer", "integer range", "float", "float range"})


class Setting(click.Option):
    """An option with a place in the help: ``section`` is the heading it stands under, among those without one if None.

    ``named``: a settings file sets it only if the user named that file. It names a file that is written, allows one
    to be replaced, or names one that is loaded with more trust than text.
    """

    def __init__(self, *names: Any, section: str | None = None, named: bool = False, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.named = named
        if self.metavar is None and self.type.name in _NUMBERS:
            self.metavar = "N"  # click adds the range to the help


class Registered(click.ParamType):  # type: ignore[type-arg]  # older versions have no type arguments
    """A name of ``registry``, ours or another package's; the help lists them."""

    name = "name"

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it is."""
        if value not in self._registry:
            self.fail(f"{value!r} is not one of {', '.join(self._registry.names())}", param, ctx)
        return str(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002 - click's
        """All names."""
        return f"[{'|'.join(self._registry.names())}]"


class Sectioned(click.Command):
    """A command whose help shows its options under their sections' headings; those without a section come first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all options."""
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


def setting(*names: str, **attributes: Any) -> Callable[[F], F]:
    """An option that can also be set as CALIPERS_NAME in the environment."""
    variable = "CALIPERS_" + names[-1].removeprefix("--").replace("-", "_").upper()
    return click.option(*names, cls=Setting, envvar=variable, **attributes)
