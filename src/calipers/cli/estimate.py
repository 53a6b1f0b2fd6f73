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
        raise ConfigError("--reply-tokens has no effect without --estimate: give both, or neither")


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
    for judge in found.spending:
        click.echo(f"{judge.name}")
        click.echo(f"  {'calls':<12} {judge.calls:,}")
        click.echo(f"  {'input':<12} {judge.input_tokens:,} tokens ± {TOKENS_ERROR * 100:.0f} %")
        click.echo(f"  {'output':<12} {judge.output_tokens:,} tokens, {reply}")
        click.echo(f"  {'cost':<12} {_cost(judge)}")
    if len(found.spending) > 1:
        cost = "unknown" if found.cost_usd is None else f"${found.cost_usd:,.4f}"
        click.echo(f"{'together':<14} {found.calls:,} calls, {found.tokens:,} tokens, cost {cost}")
    if not found.spending:
        click.echo(f"{'cost':<14} nothing: it runs in this process")
    for line in _of_budget(found, budget or {}):
        click.echo(line)
    beside = [*found.beside]
    if kept is not None and Path(kept).is_file():
        beside.append(f"answers that are in {kept} already: they are not paid for again")
    for text in beside if found.spending else ():
        click.echo(f"{'not counted':<14} {text}")


def assumed_reply(tokens: int | None) -> str:
    """Return in words what an estimate assumes of a judge's reply."""
    if tokens is not None:
        return f"{tokens:,} a reply, as --reply-tokens says"
    whole, per_candidate = REPLY_TOKENS
    return f"assumed ({whole} + {per_candidate} a candidate; --reply-tokens N)"


def _cost(one: Spending) -> str:
    if one.cost_usd is not None:
        return f"${one.cost_usd:,.4f}"
    ways = "--price IN,OUT" if find_spec("genai_prices") else "--price IN,OUT, or pip install 'calipers[prices]'"
    return f"unknown, because the price is not known: {ways}"


def _of_budget(found: Estimate, budget: Mapping[str, float]) -> Iterator[str]:
    amounts = {"calls": found.calls, "tokens": found.tokens, "usd": found.cost_usd}
    for kind, limit in budget.items():
        takes = amounts[kind]
        verdict = "unknown whether it is enough"
        if takes is not None:
            extra = max((getattr(judge.reserved, kind) for judge in found.spending), default=0)
            verdict = f"{'enough' if takes + extra <= limit else 'not enough'}: the run takes {takes / limit:.0%}"
            verdict += f", plus {extra / limit:.0%} in reserve" if extra else ""
        yield f"{'budget':<14} {kind}={limit:g}: {verdict}"
