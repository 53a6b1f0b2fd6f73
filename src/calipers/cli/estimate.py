"""``--estimate``: prints what a command will spend, and what that assumes, instead of spending it.

Not responsible for counting (``capacity.spending``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calipers.cli.command_options import command_option
from calipers.errors import ConfigError
from calipers.types.counted import counted

if TYPE_CHECKING:
    from calipers.capacity.spending import Estimate, Spending

F = TypeVar("F", bound=Callable[..., Any])


def estimate_options(command: F) -> F:
    """Add ``--estimate`` and ``--reply-tokens`` to a command."""
    tokens = command_option(
        "--reply-tokens",
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
    for one in found.spending:
        click.echo(f"{one.name}")
        click.echo(f"  {'calls':<12} {one.calls:,}")
        click.echo(f"  {'input':<12} {one.input_tokens:,} tokens ± {TOKENS_ERROR * 100:.0f} %")
        click.echo(f"  {'output':<12} {one.output_tokens:,} tokens, {reply}")
        click.echo(f"  {'cost':<12} {_cost(one)}")
    if len(found.spending) > 1:
        total = "unknown" if found.cost_usd is None else f"${found.cost_usd:,.4f}"
        click.echo(f"{'together':<14} {counted(found.calls, 'call')}, {found.tokens:,} tokens, cost {total}")
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


def _cost(one: Spending) -> str:
    if one.cost_usd is not None:
        return f"${one.cost_usd:,.4f}"
    ways = ["--price IN,OUT", *([] if _has_prices() else ["pip install 'calipers[prices]'"])]
    return f"unknown, because the price is not known: {', or '.join(ways)}"


def _has_prices() -> bool:
    return find_spec("genai_prices") is not None


def _of_budget(found: Estimate, budget: Mapping[str, float]) -> Sequence[str]:
    needed = {"calls": found.calls, "tokens": found.tokens, "usd": found.cost_usd}
    lines = []
    for kind, most in budget.items():
        takes = needed[kind]
        if takes is None:
            verdict = "unknown whether it is enough"
        elif takes <= most:
            verdict = f"enough: {takes / most:.0%} of it"
        else:
            verdict = f"not enough: reached after about {found.groups * most / takes:,.0f} of {found.groups:,}"
        lines.append(f"{'budget':<14} {kind}={most:g}: {verdict}")
    return lines
