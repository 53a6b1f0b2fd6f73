"""``calipers doctor``: examines a judge before a run."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from calipers.cli.messages import print_message, wrap_for_console
from calipers.cli.options import given_options
from calipers.cli.output import print_json
from calipers.cli.terminal import table_console
from calipers.doctor import Diagnosis, diagnose
from calipers.types.encoding import counted

_WIDTH: Final = 140
_STYLES: Final = {"good": "green", "note": "", "bad": "red", "unknown": "dim"}


def doctor(judge: str, *, as_json: bool, **options: Any) -> int:
    """Examine a judge, print what was found, and return the exit code."""
    settings = given_options(options, "params", "max_tokens", "timeout", "price", "concurrency")
    url, within = options["base_url"], options["within"]
    report = asyncio.run(diagnose(judge, base_url=url, within=within, tell=print_message, **settings))
    if as_json:
        print_json(report.to_dict())
    else:
        _print(report)
    return 1 if report.verdict == "unfit" else 0


def _print(found: Diagnosis) -> None:
    console = table_console(width=_WIDTH)
    table = Table("check", "", "found", box=None, pad_edge=False)
    for check in found.checks:
        table.add_row(check.name, Text(check.standing, style=_STYLES[check.standing]), Text(check.says))
    console.print(table)
    cost = "price unknown" if found.usage.cost_usd is None else f"${found.usage.cost_usd:.4f}"
    tokens = f"{found.usage.input_tokens:,} tokens in, {found.usage.output_tokens:,} out"
    answered = f"{found.calls:,} of " if found.calls < found.sent else ""
    calls = f"{answered}{counted(found.sent, 'call')}{' answered' if answered else ''}"
    console.print(f"\n{calls} in {found.seconds:.1f} s, {tokens}, {cost}", markup=False)
    verdict = f"\n{found.judge}: {found.verdict}: {found.reason}"
    console.print(wrap_for_console(console, verdict), markup=False, soft_wrap=True, style="bold")
    if found.settings:
        console.print("\n# judge.toml, for calipers --config judge.toml", markup=False)
        console.print(found.toml(), markup=False, soft_wrap=True, end="")
