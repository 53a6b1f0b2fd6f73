"""Turns a judge's options into flags of a command, and the flags' values into the judge that they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from calipers.cli.command_options import RegisteredName, command_option
from calipers.cli.withheld_keys import keys_for
from calipers.config.option import SECTIONS, Option
from calipers.config.options import flat_options
from calipers.errors import ConfigError

if TYPE_CHECKING:
    from calipers.judging.judge import Judge

EMBEDDED: Final = "embedded"
F = TypeVar("F", bound=Callable[..., Any])


def judge_options(command: F) -> F:
    """Add to ``command`` the command-line flag of each judge option that has one, under its section of the help."""
    flags = [option for option in flat_options().values() if option.section]
    for option in sorted(flags, key=lambda one: SECTIONS.index(one.section))[::-1]:
        command = _flag(option, section=option.section)(command)
    return command


def judge_option(key: str, **changes: Any) -> Callable[[F], F]:
    """Add to a command the flag of one judge option, by its flat name; ``changes`` override the flag's attributes."""
    return _flag(flat_options()[key], **changes)


def _flag(option: Option, **changes: Any) -> Callable[[F], F]:
    unset = f" [default: {option.unset}]" if option.unset and not option.off else ""
    attributes: dict[str, Any] = {
        "help": f"{option.off or option.help}{' May be repeated.' if option.many else ''}{unset}",
        "metavar": option.metavar,
        "multiple": option.many,
        "named": option.named,
        "type": _type(option),
        "is_flag": option.kind == "flag",
    }
    if option.kind != "flag" and option.default is not None and not option.unset:
        attributes |= {"default": str(option.default) if option.reads else option.default, "show_default": True}
    return command_option(f"--{option.flag}", **(attributes | changes))


def _type(option: Option) -> Any:
    if option.metavar == "FILE":
        return click.Path(dir_okay=False)
    match option.kind:
        case "choice":
            return RegisteredName(option.registered) if option.registered else click.Choice(option.choices)
        case "whole" if option.reads is None:
            return click.INT if option.low is None else click.IntRange(_whole(option.low), _whole(option.high))
        case "number":
            return click.FloatRange(option.low, option.high, min_open=option.above, max_open=option.below)
    return None


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def given_options(values: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return the judge options among a command's ``values`` that the user set, by flat name.

    ``keys`` limits the result to these options. Raises ConfigError for a value that cannot be read.
    """
    context = click.get_current_context()
    options = flat_options()
    found = {}
    for key in keys or options:
        option = options[key]
        name = option.flag.replace("-", "_")
        value = values.get(name)
        if value in (None, False, ()) or context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        if option.kind == "flag":
            value = not option.off
        found[key] = value if option.reads is None else option.reads(value)
    return found


def judge_from_options(values: Mapping[str, Any], *, ledger: str | None, debug: bool) -> Judge:
    """Build the judge that a command's ``values`` describe. Raises ConfigError."""
    from calipers.judging.judge import Judge  # noqa: PLC0415 - --help stays quick

    options = given_options(values)
    judges = options.get("judge", (EMBEDDED,))
    if len(judges) > 1 and "base_url" in options:
        raise ConfigError(
            "--base-url: with several judges write it behind each, as in --judge vllm/qwen3@http://HOST/v1"
        )
    if len(judges) > 1 and "price" in options:
        raise ConfigError('--price is for one judge; for a panel give calls={"price": {JUDGE: ...}} in Python')
    keys = keys_for(judges, options.get("base_url", ()))
    judge = judges if len(judges) > 1 else judges[0]
    return Judge.of(options | {"judge": judge, "api_key": keys, "ledger": ledger, "debug": debug})
