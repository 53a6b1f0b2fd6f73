"""``--estimate``: prints what a command will spend, and what that assumes, instead of spending it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from calipers.capacity.spending import REPLY_TOKENS, TOKENS_ERROR, Estimate, Spending
from calipers.errors import ConfigError


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
    click.echo(f"{noun:<14} {found.groups:,}")
    for one, most in zip(found.spending, found.at_most.spending, strict=True):
        click.echo(f"{one.name}")
        click.echo(f"  {'calls':<12} {_between(one.calls, most.calls)}")
        tokens = _between(one.input_tokens, most.input_tokens)
        click.echo(f"  {'input':<12} {tokens} tokens ± {TOKENS_ERROR * 100:.0f} %")
        click.echo(f"  {'output':<12} {_between(one.output_tokens, most.output_tokens)} tokens, {reply}")
        click.echo(f"  {'cost':<12} {_cost(one, most)}")
    if len(found.spending) > 1:
        calls, tokens = _between(found.calls, found.at_most.calls), _between(found.tokens, found.at_most.tokens)
        dollars = (found.cost_usd, found.at_most.cost_usd)
        cost = "unknown" if None in dollars else _dollars(*(one or 0.0 for one in dollars))
        click.echo(f"{'together':<14} {calls} calls, {tokens} tokens, cost {cost}")
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
    if tokens is not None:
        return f"{tokens:,} a reply, as --reply-tokens says"
    whole, each = REPLY_TOKENS
    return f"assumed ({whole} and {each} a candidate; --reply-tokens N)"


def _between(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _dollars(least: float, most: float) -> str:
    return f"${least:,.4f}" if f"{least:.4f}" == f"{most:.4f}" else f"${least:,.4f} to ${most:,.4f}"


def _cost(one: Spending, most: Spending) -> str:
    if one.cost_usd is not None and most.cost_usd is not None:
        return _dollars(one.cost_usd, most.cost_usd)
    ways = "--price IN,OUT" if find_spec("genai_prices") else "--price IN,OUT, or pip install 'calipers[prices]'"
    return f"unknown, because the price is not known: {ways}"


def _of_budget(found: Estimate, budget: Mapping[str, float]) -> Iterator[str]:
    least, most = ({"calls": one.calls, "tokens": one.tokens, "usd": one.cost_usd} for one in (found, found.at_most))
    for kind, limit in budget.items():
        low, high = least[kind], most[kind]
        verdict = "unknown whether it is enough"
        if low is not None and high is not None:
            enough = "enough" if high <= limit else "perhaps not enough" if low <= limit else "not enough"
            share = f"{low / limit:.0%}" if low == high else f"{low / limit:.0%} to {high / limit:.0%}"
            verdict = f"{enough}: it would take {share} of it"
        yield f"{'budget':<14} {kind}={limit:g}: {verdict}"
