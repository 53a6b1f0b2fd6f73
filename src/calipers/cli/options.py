"""Builds the commands that ``commands.toml`` declares, and reads the values of their options.

An option of a command is declared as an option of a judge is. Environment variables and calipers.toml set both.
``--help`` fits on a screen: everyday options, the first sentence of each. ``--help-all`` shows everything.
"""

from __future__ import annotations

import os
import tomllib
from collections import UserDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from math import isfinite
from typing import Any, Final

import click
from click.core import ParameterSource
from click.types import IntParamType

from calipers import registry
from calipers.config.flat_names import judge_arguments, require_switched_on
from calipers.config.option import SECTIONS, Option
from calipers.config.options import flat_options
from calipers.errors import ConfigError, InputError
from calipers.registry import Registry, load_object

EMBEDDED: Final = "embedded"
_EVERYDAY: Final = frozenset({
    "base_url", "budget", "concurrency", "judge", "ledger", "max_tokens", "orders", "params", "price", "protocol",
    "reward", "rubric", "timeout",
})  # fmt: skip
"""The options of a judge that ``--help`` shows."""
_GUARDED: Final = frozenset({"URL", "FILE", "DIR", "OUT", "NAME=VALUE"})
"""Placeholders of options that name a file or an address, or change a request."""
_REST: Final = "Options"
ALL: Final = "calipers.help.all"
"""Set in the ``meta`` of a context whose help shows all options."""


class CommandOption(click.Option):
    """An option of a command. ``rare`` ones are shown by ``--help-all`` only, under the heading ``section``.

    ``guarded`` options are set by calipers.toml only if the user named that file.
    """

    def __init__(self, names: Sequence[str], option: Option, *, guarded: bool, rare: bool, **attributes: Any) -> None:
        super().__init__(names, **attributes)
        self.section, self.guarded, self.rare = option.section or _REST, guarded, rare
        self._option = option
        default = option.unset or attributes.get("default", "")
        default = f"{default:g}" if isinstance(default, float) else str(default)
        self._default = default and f"default: {default}"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the flag with its placeholder, and its help: the first sentence, or all of it."""
        whole, text = ctx.meta.get(ALL), str(self.help)
        if self.rare and not whole:
            return None
        text = text if whole else f"{text.partition('. ')[0].removesuffix('.')}."
        choices = ", ".join(getattr(self.type, "choices", ()))
        facts = [choices if choices != self.metavar else "", "required" if self.required else self._default]
        if whole:
            facts += [self._option.range.partition(" number ")[2], "may be repeated" if self._option.many else ""]
        shown = "; ".join(filter(None, facts))
        return f"{', '.join(self.opts)} {self.metavar or ''}".rstrip(), f"{text} [{shown}]" if shown else text

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the option's value; one value where a command takes one of an option that others repeat."""
        values = super().process_value(ctx, value)
        if not self.multiple or self._option.many:
            return values
        if len(values) > 1:
            raise click.BadParameter("was given more than once; this command takes one", ctx, self)
        return next(iter(values), None)

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """Return a required option for the line of usage."""
        return [f"{self.opts[0]} {self.metavar}"] if self.required else []

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the option's name for an error message, and where a value is from that nobody typed."""
        source = None if ctx is None or self.name is None else ctx.get_parameter_source(self.name)
        hint = super().get_error_hint(ctx)
        if source is ParameterSource.ENVIRONMENT:
            return f"{hint} (from the environment variable {self.envvar})"
        return f"{hint} (from the settings file)" if source is ParameterSource.DEFAULT_MAP else hint


class _RegisteredName(click.ParamType):  # type: ignore[type-arg]  # older versions have no type arguments
    """A name in ``registry``, which other packages add to: it is searched when it is needed."""

    name = "name"

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @property
    def choices(self) -> list[str]:
        """All names, for the help."""
        return self._registry.names()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name unchanged; fail if the registry does not have it."""
        if value not in self._registry:
            near = self._registry.nearest(str(value))
            hint = "" if near is None else f"; did you mean {near}?"
            self.fail(f"{value!r} is not one of {', '.join(self._registry.names())}{hint}", param, ctx)
        return str(value)


class _FiniteRange(click.FloatRange):
    """A finite number in a range: click lets NaN pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; fail if it is not finite or outside the range."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class _InputFile(click.ParamType):  # type: ignore[type-arg]  # as above
    """A file that must exist, which is checked before a missing option is reported; ``-`` and URLs are not checked."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002 - click's
        """Return the path unchanged. Raises InputError if there is no such file."""
        if value != "-" and "://" not in value and not os.path.exists(value):  # noqa: PTH110 - no error for any path
            raise InputError("there is no such file", source=value)
        return str(value)


class Command(click.Command):
    """A command as its ``table`` declares it. The module of its function is imported when it runs."""

    def __init__(self, name: str, table: Mapping[str, Any]) -> None:
        show_all = click.Option(
            ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all,
            help="Show all options, and the whole help of each.",
        )  # fmt: skip
        params = [*map(_argument, table.get("arguments", ())), *_options(table), show_all]

        def run(**values: Any) -> Any:
            return load_object(table["runs"])(**values)

        super().__init__(name, callback=run, params=params, help=_help(table), short_help=table["short"])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the everyday options to the help as a list, or all options section by section."""
        sections: dict[str, list[tuple[str, str]]] = {_REST: []}
        for option in self.get_params(ctx):
            if isinstance(option, click.Option) and (record := option.get_help_record(ctx)):
                section = getattr(option, "section", _REST) if ctx.meta.get(ALL) else _REST
                sections.setdefault(section, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def _show_all(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's
    if value:
        context.meta[ALL] = True
        click.echo(context.get_help())
        context.exit()


class Commands(UserDict[str, Any]):
    """Commands by name, from their tables. Each is made when it is first used."""

    def __getitem__(self, name: str) -> click.Command:
        """Return a command."""
        entry = self.data[name]
        if isinstance(entry, Mapping):
            entry = CommandGroup(name, entry) if "commands" in entry else Command(name, entry)
            self.data[name] = entry
        command: click.Command = entry
        return command


class CommandGroup(click.Group):
    """A command with commands of its own. A first argument that names none of them is for the ``default`` one."""

    def __init__(self, name: str, table: Mapping[str, Any]) -> None:
        super().__init__(name, commands=Commands(table["commands"]), help=_help(table), short_help=table["short"])
        self._default: str | None = table.get("default")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the default command before arguments that name none."""
        if self._default and args and args[0] not in self.commands and not args[0].startswith("-"):
            args = [self._default, *args]
        return super().parse_args(ctx, args)


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    return tomllib.loads(files("calipers.cli").joinpath("commands.toml").read_text(encoding="utf-8"))


def command_tables() -> dict[str, Any]:
    """Return the tables of all commands by name."""
    return {name: table for name, table in _tables().items() if name != "shared"}


def _help(table: Mapping[str, Any]) -> str:
    """Return the help of a command; paragraphs of examples keep their lines."""
    paragraphs = table["help"].strip().split("\n\n")
    return "\n\n".join(
        f"\b\n{paragraph}" if paragraph.startswith("calipers ") else paragraph for paragraph in paragraphs
    )


def _argument(declared: str) -> click.Argument:
    """Return an argument: ``GROUPS!`` must exist, ``GROUP?`` may be missing, ``CONFIG=smoke`` has a default."""
    text, _, default = declared.partition("=")
    name = text.rstrip("!?.")
    more: dict[str, Any] = {"default": default} if default else {}
    return click.Argument(
        [name.lower()],
        type=_InputFile() if text.endswith("!") else click.Path(),
        required=not (default or text.endswith("?")),
        nargs=-1 if "..." in text else 1,
        **more,
    )


def _options(table: Mapping[str, Any]) -> Iterator[CommandOption]:
    known = flat_options()
    for key, row in table.get("options", {}).items():
        if key == "*":
            flags = (option for option in known.values() if option.section)
            for option in sorted(flags, key=lambda flag: SECTIONS.index(flag.section)):
                unset = row.get(option.key, option.unset)
                yield _option(replace(option, unset=unset), {"rare": option.key not in _EVERYDAY})
        elif key.startswith("-"):
            yield _declared(key, row)
        else:
            more = {name: row[name] for name in _OF_COMMANDS if name in row}
            changes = {name: value for name, value in row.items() if name not in more}
            yield _option(replace(known[key], section="", **changes), more | {"multiple": known[key].many})
    rows = {key.split()[0]: (key, row) for key, row in _tables()["shared"]["options"].items()}
    yield from (_declared(*rows[name]) for name in table.get("shared", ()))


_OF_COMMANDS: Final = ("required", "rare", "exists", "name")
"""What a row may say beside the fields of Option."""


def _declared(key: str, row: Mapping[str, Any]) -> CommandOption:
    """Return the option of a row such as ``"-o, --out OUT" = { help = "..." }``."""
    *short, last = key.split(", ")
    flag, _, metavar = last.partition(" ")
    more = {name: row[name] for name in _OF_COMMANDS if name in row} | {"short": short}
    fields = {name: value for name, value in row.items() if name not in more}
    if "registered" in fields:
        fields["registered"] = getattr(registry, fields["registered"])
    kind = "object" if metavar else "flag"
    return _option(Option(**({"kind": kind, "flag": flag[2:], "metavar": metavar or None} | fields)), more)


def _option(option: Option, more: Mapping[str, Any]) -> CommandOption:
    """Return the flag of an option, with what a command's table says of it beside the fields of Option."""
    attributes: dict[str, Any] = {
        "envvar": "CALIPERS_" + option.flag.replace("-", "_").upper(),
        "help": option.off or option.help,
        "metavar": option.metavar or _PLACEHOLDERS.get(option.kind),
        "multiple": more.get("multiple", option.many),
        "required": more.get("required", False),
        "type": _InputFile() if more.get("exists") else _type(option),
        "rare": more.get("rare", False),
        "guarded": option.named or option.metavar in _GUARDED or more.get("exists", False),
    }
    if option.kind == "count":
        attributes["count"] = True
    elif option.kind == "flag":
        attributes["is_flag"] = True  # is_flag=False, given explicitly, makes click accept the option without its value
    elif option.default is not None and not option.unset:
        attributes["default"] = str(option.default) if option.reads else option.default
    names = [*([more["name"]] if "name" in more else []), *more.get("short", ()), f"--{option.flag}"]
    return CommandOption(names, option, **attributes)


_PLACEHOLDERS: Final[Mapping[str, str]] = {"whole": "N", "number": "N", "choice": "NAME"}


def _type(option: Option) -> Any:
    if option.metavar == "FILE":
        return click.Path(dir_okay=False)
    kind: Any = None
    match option.kind:
        case "choice":
            return _RegisteredName(option.registered) if option.registered else click.Choice(option.choices)
        case "whole" if option.reads is None:
            low, high = (None if bound is None else int(bound) for bound in (option.low, option.high))
            kind = IntParamType() if low is high is None else click.IntRange(low, high)
            kind.name = "whole number"
        case "number":
            kind = _FiniteRange(option.low, option.high, min_open=option.above, max_open=option.below)
            kind.name = "number"
    if kind is not None:
        kind.name += f" ({option.help.partition('. ')[0].removesuffix('.')})"  # for the error
    return kind


def is_typed(name: str) -> bool:
    """Whether an option of the running command was given on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def given_options(values: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return the judge options among a command's ``values`` that the user set, by flat name.

    ``keys`` limits the result to these options. Raises ConfigError for a value that cannot be read.
    """
    context = click.get_current_context()
    options = flat_options()
    stated = {}
    for key in keys or options:
        option = options[key]
        name = option.flag.replace("-", "_")
        value = values.get(name)
        if value in (None, False, ()) or context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        if option.kind == "flag":
            value = not option.off
        stated[key] = value if option.reads is None else option.reads(value)
    return stated


def judge_arguments_of(values: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the arguments of the ``Judge`` that a command's ``values`` describe; ``more`` sets further options.

    Raises ConfigError.
    """
    options = given_options(values)
    require_switched_on(options)
    judges = options.get("judge", (EMBEDDED,))
    if len(judges) > 1 and "base_url" in options:
        raise ConfigError("--base-url is for one judge; for several, write --judge vllm/qwen3@http://HOST/v1 for each")
    if len(judges) > 1 and "price" in options:
        raise ConfigError('--price is for one judge; for a panel give calls={"price": {JUDGE: ...}} in Python')
    return judge_arguments(options | {"judge": judges if len(judges) > 1 else judges[0]} | more)
