"""Turns a judge's options into flags of a command, and the flags' values into the judge that they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from calipers.cli.command_options import RegisteredName, command_option, complete_judges
from calipers.config.option import SECTIONS, Option
from calipers.config.options import flat_options
from calipers.errors import ConfigError

if TYPE_CHECKING:
    from calipers.interfaces import Watcher
    from calipers.judging.judge import Judge
    from calipers.ledger import WritableLedger

EMBEDDED: Final = "embedded"
_EVERYDAY: Final = frozenset({
    "base_url", "budget", "concurrency", "judge", "ledger", "orders", "params", "protocol", "reward", "rubric", "seed",
})  # fmt: skip
"""The options that ``--help`` shows; ``--help-all`` shows the others."""
F = TypeVar("F", bound=Callable[..., Any])


def judge_options(command: F) -> F:
    """Add to ``command`` the command-line flag of each judge option that has one, under its section of the help."""
    return judge_options_with()(command)


def judge_options_with(*, ledger: str | None = None) -> Callable[[F], F]:
    """Return a decorator that adds the command-line flags of ``judge_options``.

    ``ledger`` is what the help says is the default of ``--ledger``, if it is not the option's own.
    """

    def add(command: F) -> F:
        flags = [option for option in flat_options().values() if option.section]
        for option in sorted(flags, key=lambda one: SECTIONS.index(one.section))[::-1]:
            shown = replace(option, unset=ledger) if ledger is not None and option.flag == "ledger" else option
            command = _flag(shown, section=option.section, rare=option.key not in _EVERYDAY)(command)
        return command

    return add


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
    }
    if option.flag == "judge":
        attributes["shell_complete"] = complete_judges
    if option.kind == "flag":
        attributes["is_flag"] = True  # is_flag=False, given explicitly, makes click accept the option without its value
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


def judge_from_options(
    values: Mapping[str, Any],
    *,
    ledger: str | WritableLedger | None,
    debug: bool,
    budget: Mapping[str, float] | None = None,
    watchers: Sequence[Watcher] = (),
) -> Judge:
    """Build the judge that a command's ``values`` describe. ``budget`` replaces that of ``values``.

    Raises ConfigError.
    """
    from calipers.judging.judge import Judge  # noqa: PLC0415 - --help stays quick

    return Judge(**arguments_of_judge(values, ledger=ledger, debug=debug, budget=budget, watchers=watchers))


def arguments_of_judge(
    values: Mapping[str, Any],
    *,
    ledger: str | WritableLedger | None,
    debug: bool,
    budget: Mapping[str, float] | None = None,
    watchers: Sequence[Watcher] = (),
) -> dict[str, Any]:
    """Return the arguments of ``Judge`` that a command's ``values`` describe, as for ``judge_from_options``."""
    from calipers.config.flat_names import judge_arguments, require_switched_on  # noqa: PLC0415 - --help stays quick

    options = given_options(values)
    require_switched_on(options)
    judges = options.get("judge", (EMBEDDED,))
    if len(judges) > 1 and "base_url" in options:
        raise ConfigError(
            "--base-url: with several judges write it behind each, as in --judge vllm/qwen3@http://HOST/v1"
        )
    if len(judges) > 1 and "price" in options:
        raise ConfigError('--price is for one judge; for a panel give calls={"price": {JUDGE: ...}} in Python')
    judge = judges if len(judges) > 1 else judges[0]
    more = ({} if budget is None else {"budget": budget}) | ({"watchers": tuple(watchers)} if watchers else {})
    return judge_arguments(options | {"judge": judge, "ledger": ledger, "debug": debug} | more)
