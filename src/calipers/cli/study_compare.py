"""``calipers study compare``: judges compared on the same groups and on rewrites of the same answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.backends.names import name_without_password
from calipers.cli.command_options import command_option
from calipers.cli.judge_options import arguments_of_judge, judge_options
from calipers.cli.messages import BadLines, print_message, tells_if_interrupted
from calipers.cli.overwriting import COMPARISON, add_force_option, require_replaceable
from calipers.errors import ConfigError

if TYPE_CHECKING:
    from calipers.study.figures import Comparison
    from calipers.study.intervals import Estimate

_WIDTH = 110
_NAMES = ("verbose", "sycophantic", "confident", "formatted")


@click.command(short_help="Compare judges on the same groups and on rewrites of the same answers.")
@click.argument("groups", type=click.Path())
@command_option(
    "-o",
    "--out",
    default="comparison.json",
    show_default=True,
    named=True,
    metavar="OUT",
    help="The result file (JSON).",
)
@command_option(
    "--rewrite",
    multiple=True,
    type=click.Choice((*_NAMES, "none")),
    help="How answers are rewritten. May be repeated. [default: verbose, sycophantic, confident and formatted]",
)
@add_force_option
@judge_options
def compare(groups: str, out: str, rewrite: tuple[str, ...], *, force: bool, **options: Any) -> int:
    """Compare the judges that --judge names on the same GROUPS: each is asked alone, not as a panel.

    Prints each judge's agreement with the groups' gold, if they have any, what each rewrite of an answer adds to its
    score, and how far judges agree, with 95 % intervals over groups; differences between judges are paired by group.
    A rewrite makes an answer longer, flattering, surer of itself or formatted, and no better. Answers are recorded in
    OUT.ledger.db: run the same command again to continue after an interruption.

    \b
    calipers study compare groups.jsonl --judge openai/gpt-5-mini \\
      --judge vllm/qwen3@http://gpu1:8000/v1
    calipers study compare groups.jsonl --judge ollama/qwen3:8b --orders 2 --rewrite verbose

    Exit code: 0 compared, 1 a candidate has no score or a line could not be read, 2 bad usage or configuration.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.inputs import read_groups  # noqa: PLC0415 - --help stays quick
    from calipers.judging.judge import Judge  # noqa: PLC0415 - likewise
    from calipers.study.figures import compare_judges  # noqa: PLC0415 - likewise
    from calipers.study.rewrites import REWRITES  # noqa: PLC0415 - likewise

    names = options["judge"]
    if not names:
        raise ConfigError("name the judges to compare, each with --judge")
    if len(names) > 1 and options["base_url"]:
        raise ConfigError("--base-url: write it behind each judge, as in --judge vllm/qwen3@http://HOST/v1")
    if "none" in rewrite and len(rewrite) > 1:
        raise ConfigError("--rewrite none stands alone")
    require_replaceable("--out", out, COMPARISON, force=force, beside={"the groups file": groups})
    bad = BadLines()
    shown = list(read_groups(groups, on_error=bad))
    ledger = options["ledger"] or f"{out}.ledger.db"
    judges = {
        name_without_password(name): Judge(
            **arguments_of_judge(options | {"judge": (name,), "experience": False}, ledger=ledger, debug=False)
        )
        for name in dict.fromkeys(names)
    }
    chosen = {name: REWRITES[name] for name in (rewrite or _NAMES) if name != "none"}
    with tells_if_interrupted(f"Answers are in {ledger}: run the same command again to continue."):
        found = asyncio.run(compare_judges(shown, judges, chosen, tell=lambda name: print_message(f"Asking {name}")))
    Path(out).write_text(json.dumps(found.to_dict(), ensure_ascii=False) + "\n", encoding="utf-8")
    _print(found, [*chosen])
    print_message(f"All figures: {out}")
    return 1 if bad.count or any(one.unscored for one in found.judges) else 0


def _print(found: Comparison, rewrites: list[str]) -> None:
    from rich.table import Table  # noqa: PLC0415 - --help stays quick
    from rich.text import Text  # noqa: PLC0415 - likewise

    from calipers.cli.terminal import table_console  # noqa: PLC0415 - likewise

    console = table_console(width=_WIDTH)
    names = ["fidelity", *rewrites]
    table = Table("judge", *names, "no score", box=None, pad_edge=False)
    for one in found.judges:
        figures = one.figures()
        table.add_row(Text(one.judge), *(_shown(figures.get(name)) for name in names), f"{one.unscored:,}")
    console.print(table)
    lines = [f"{name}: {one} less {other}: {_shown(gap)}" for name, one, other, gap in found.differences()]
    lines += [f"agreement of {one} and {other}: {_shown(value)}" for one, other, value in found.agreements()]
    console.print("\n".join(["", *lines]), markup=False)


def _shown(found: Estimate | None) -> str:
    if found is None:
        return "-"
    return f"{found.mean:+.3f}" + ("" if found.half_width is None else f" ± {found.half_width:.3f}")
