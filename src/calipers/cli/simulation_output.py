"""Prints and writes what ``calipers study simulate`` found. Not responsible for running the simulation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from calipers.cli.messages import print_message
from calipers.errors import ConfigError

if TYPE_CHECKING:
    from calipers.study.intervals import Estimate
    from calipers.study.simulation.summary import ArmSummary

_WIDTH: Final = 180
_SAY_EVERY: Final = 10.0
"""Seconds between lines of progress."""
_DECIMALS: Final = {"length": 1, "kl": 2}
"""Decimals of figures in the table, where they are not three; differences have one more."""
_FORMS: Final = {"best_of_n": "d (α - β d)", "reinforcement": "d (α - β log d)", "linear": "α d"}


def write_result(out: str, result: dict[str, Any]) -> None:
    """Write the result file of a simulation, or print it if ``out`` is ``-``. Raises ConfigError.

    An old file stays until the new one is complete.
    """
    from calipers.types.encoding import to_json  # noqa: PLC0415 - --help stays quick

    text = to_json(result).decode() + "\n"
    if out == "-":
        click.echo(text, nl=False)
        return
    file = Path(out).resolve()
    part = file.with_name(f"{file.name}.part")
    try:
        if file.exists() and not file.is_file():  # a device or a pipe is written, not replaced
            file.write_text(text, encoding="utf-8")
            return
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written ({error.strerror})") from error


def count_steps(total: int, clock: Callable[[], float] = time.monotonic) -> Callable[[int], None]:
    """Return the function that a simulation tells how many steps it made; it prints a line every ten seconds."""
    began = said = clock()
    made = 0

    def done(steps: int) -> None:
        nonlocal made, said
        made += steps
        if clock() - said >= _SAY_EVERY:
            said = clock()
            print_message(f"{made:,} of {total:,} steps, {made / (said - began):,.0f}/s")

    return done


def print_summary(title: str, summaries: Sequence[ArmSummary], figures: Sequence[str]) -> None:
    """Print the figures of a simulation's arms, each with its paired difference from the control arm.

    If ``after_peak`` is among the figures, a second table compares the forms of overoptimisation.
    """
    from calipers.cli.tables import print_figures  # noqa: PLC0415 - --help stays quick
    from calipers.cli.terminal import table_console  # noqa: PLC0415 - likewise

    console = table_console(width=_WIDTH)
    controls = list(dict.fromkeys(one.against for one in summaries if one.against))
    columns = ("", "") if controls else ("",)
    heads = [head for name in figures for head in (name.replace("_", " "), *columns[1:])]
    rows = []
    for one in summaries:
        row = [f"{one.name} (less {one.against})" if one.against in controls[1:] else one.name]
        for name in figures:
            cells = (_value(name, one.figures.get(name)), _difference(name, one.differences.get(name)))
            row += cells[: len(columns)]
        rows.append(row)
    print_figures(console, title, ("arm",), heads, rows, together=len(columns))
    if controls:
        told = f"Behind each figure: less {controls[0]!r}, with a 95 % interval over {summaries[0].runs} paired runs."
        console.print(f"\n{told}", markup=False)
    if "after_peak" in figures and any(one.overoptimisation for one in summaries):
        console.print()
        heads = [f"{_FORMS[fit.form]}" for fit in summaries[0].overoptimisation]
        rows = [[one.name, *(_held_out(fit.held_out) for fit in one.overoptimisation)] for one in summaries]
        print_figures(
            console, "Error of the gain in truth over d = √KL, on runs that were not fitted on", ("arm",), heads, rows
        )


def _value(name: str, figure: Estimate | None) -> str:
    return "" if figure is None else f"{_rounded(figure.mean, _DECIMALS.get(name, 3)):.{_DECIMALS.get(name, 3)}f}"


def _rounded(value: float, decimals: int) -> float:
    """Round for a table of the command line, without a minus before zero."""
    return round(value, decimals) + 0.0


def _difference(name: str, difference: Estimate | None) -> str:
    if difference is None:
        return ""
    decimals = _DECIMALS.get(name, 3) + 1
    around = "" if difference.half_width is None else f" ± {difference.half_width:.{decimals}f}"
    return f"{_rounded(difference.mean, decimals):+.{decimals}f}{around}"


def _held_out(error: Estimate) -> str:
    return f"{math.sqrt(error.mean):.3g}"
