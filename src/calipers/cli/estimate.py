"""``--estimate``: prints what a command will spend, and what that assumes, instead of spending it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calipers.cli.command_options import command_option
from calipers.errors import ConfigError
from calipers.types.encoding import counted

if TYPE_CHECKING:
    from calipers.capacity.spending import Estimate, Spending

F = TypeVar("F", bound=Callable[..., Any])


def estimate_options(command: F) -> F:
    """Add ``--estimate`` and ``--reply-tokens`` to a command."""
    tokens = command_option(
        "--reply-tokens",
        rare=True,
        type=click.IntRange(1),
        help="With --estimate: the tokens of a reply, reasoning included. [default: assumed, and shown]",
    )
    estimate = command_option(
        "--estimate",
        is_flag=True,
        help="Print what this would take (calls, tokens, dollars) and stop. Nothing is sent.",
    )
    return estimate(tokens(command))


def require_estimate(options: Mapping[str, Any]) -> None:
    """Raise ConfigError for ``--reply-tokens`` without ``--estimate``."""
    if options["reply_tokens"] is not None and not options["estimate"]:
        raise ConfigError("--reply-tokens is about --estimate: give that, too, or leave it out")


def print_estimate(
    found: Estimate,
    *,
    noun: str,
    reply: str,
    budget: Mapping[str, float] | None = None,
    kept: str | None = None,
) -> None:
    """Print an estimate for ``found.groups`` of ``noun`` to stdout.

    ``reply`` says what is assumed of a reply, ``budget`` what may be spent, and ``kept`` names the file whose answers
    are not paid again.
    """
    from calipers.capacity.spending import TOKENS_ERROR  # noqa: PLC0415 - --help stays quick

    click.echo(f"{noun:<14} {found.groups:,}")
    for one, most in zip(found.spending, found.at_most.spending, strict=True):
        click.echo(f"{one.name}")
        click.echo(f"  {'calls':<12} {_between(one.calls, most.calls)}")
        tokens = _between(one.input_tokens, most.input_tokens)
        click.echo(f"  {'input':<12} {tokens} tokens ± {TOKENS_ERROR * 100:.0f} %")
        click.echo(f"  {'output':<12} {_between(one.output_tokens, most.output_tokens)} tokens, {reply}")
        click.echo(f"  {'cost':<12} {_cost(one, most)}")
    if len(found.spending) > 1:
        click.echo(f"{'together':<14} {_together(found, found.at_most)}")
    for text in found.ranges if found.spending else ():
        click.echo(f"{'range':<14} {text}")
    if not found.spending:
        click.echo(f"{'cost':<14} nothing: it runs in this process")
    for line in _of_budget(found, budget or {}):
        click.echo(line)
    beside = [*found.beside]
    if kept is not None and Path(kept).is_file():
        beside.append(f"less, for what {kept} has already: that is not paid again")
    for text in beside if found.spending else ():
        click.echo(f"{'not counted':<14} {text}")


def assumed_reply(tokens: int | None) -> str:
    """Return in words what an estimate assumes of a judge's reply."""
    from calipers.capacity.spending import REPLY_TOKENS  # noqa: PLC0415 - --help stays quick

    if tokens is not None:
        return f"{tokens:,} a reply, as --reply-tokens says"
    whole, each = REPLY_TOKENS
    return f"assumed ({whole} and {each} a candidate; --reply-tokens N)"


def _between(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _dollars(least: float, most: float) -> str:
    return f"${least:,.4f}" if f"{least:.4f}" == f"{most:.4f}" else f"${least:,.4f} to ${most:,.4f}"


def _together(least: Estimate, most: Estimate) -> str:
    calls = counted(least.calls, "call") if least.calls == most.calls else f"{_between(least.calls, most.calls)} calls"
    known = least.cost_usd is not None and most.cost_usd is not None
    cost = _dollars(least.cost_usd or 0.0, most.cost_usd or 0.0) if known else "unknown"
    return f"{calls}, {_between(least.tokens, most.tokens)} tokens, cost {cost}"


def _cost(one: Spending, most: Spending) -> str:
    if one.cost_usd is not None and most.cost_usd is not None:
        return _dollars(one.cost_usd, most.cost_usd)
    ways = ["--price IN,OUT", *([] if _has_prices() else ["pip install 'calipers[prices]'"])]
    return f"unknown, because the price is not known: {', or '.join(ways)}"


def _has_prices() -> bool:
    return find_spec("genai_prices") is not None


def _of_budget(found: Estimate, budget: Mapping[str, float]) -> Sequence[str]:
    least, most = _needed(found), _needed(found.at_most)
    lines = []
    for kind, limit in budget.items():
        low, high = least[kind], most[kind]
        if low is None or high is None:
            verdict = "unknown whether it is enough"
        else:
            share = f"{low / limit:.0%}" if low == high else f"{low / limit:.0%} to {high / limit:.0%}"
            if high <= limit:
                verdict = f"enough: {share} of it"
            elif low <= limit:
                reached = f"reached after about {_groups_within(found, limit, high)} of {found.groups:,}"
                verdict = f"perhaps not enough: {share} of it; at worst {reached}"
            else:
                sooner, later = _groups_within(found, limit, high), _groups_within(found, limit, low)
                between = sooner if sooner == later else f"{sooner} to {later}"
                verdict = f"not enough: reached after about {between} of {found.groups:,}"
        lines.append(f"{'budget':<14} {kind}={limit:g}: {verdict}")
    return lines


def _needed(found: Estimate) -> dict[str, float | None]:
    return {"calls": found.calls, "tokens": found.tokens, "usd": found.cost_usd}


def _groups_within(found: Estimate, limit: float, takes: float) -> str:
    return f"{found.groups * limit / takes:,.0f}"
