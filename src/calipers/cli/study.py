"""``calipers study``: what a judge does to the policy that is rewarded by it."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import print_message
from calipers.cli.overwriting import SIMULATION, add_force_option, require_replaceable
from calipers.cli.study_compare import compare
from calipers.cli.study_train import train
from calipers.errors import ConfigError
from calipers.types.counted import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from calipers.study.curves import Against


@click.group(short_help="Study what a judge does to a policy.")
def study() -> None:
    """Study what a judge's bias, noise and failures do to the policy that is rewarded by it."""


study.add_command(train)
study.add_command(compare)


@study.command(short_help="Simulate GRPO under a judge's vices, in seconds.")
@click.argument("config", default="order")
@command_option(
    "-o",
    "--out",
    default="simulation.json",
    show_default=True,
    named=True,
    metavar="OUT",
    help="The result file: curves of every run, figures, differences; - for stdout.",
)
@command_option("--steps", type=click.IntRange(1), help="Steps of each run. [default: the config's]")
@command_option("--seeds", type=click.IntRange(1), help="Runs of each arm. [default: the config's]")
@click.option("--show", is_flag=True, help="Print the scenario's TOML instead of running it.")
@click.option("--settings", is_flag=True, help="Print a TOML file with every setting, its meaning and its default.")
@add_force_option
def simulate(
    config: str, out: str, steps: int | None, seeds: int | None, *, show: bool, settings: bool, force: bool
) -> int:
    """Simulate GRPO as CONFIG says, a TOML file or a scenario's name.

    Scenarios are failures, injection, length, noise, order (the default), overoptimisation, panel and verdicts.

    Arms (a judge, a policy, GRPO's settings) are run with the same seeds, and compared run by run. The policy's
    gradients are exact and its true quality is known. Nothing is downloaded, and no judge is asked.

    \b
    calipers study simulate
    calipers study simulate length --seeds 50 -o length.json
    calipers study simulate length --show > mine.toml
    calipers study simulate --settings > all.toml
    calipers study simulate mine.toml -o mine.json

    Exit code: 0 simulated, 2 bad usage or configuration.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.cli.simulation_output import count_steps, print_summary, write_result  # noqa: PLC0415 - --help stays quick
    from calipers.study.simulation import read_simulation, scenario_text, settings_text  # noqa: PLC0415 - likewise
    from calipers.study.simulation import simulate as simulated  # noqa: PLC0415 - likewise

    if show or settings:
        click.echo(settings_text() if settings else scenario_text(config), nl=False)
        return 0
    simulation = read_simulation(config, steps=steps, seeds=seeds)
    if out != "-" and not Path(out).absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: its folder does not exist; create it first")
    require_replaceable("--out", out, SIMULATION, force=force, beside={"the configuration": config})
    began = time.monotonic()
    total = len(simulation.arms) * simulation.seeds * simulation.steps
    result, summaries = simulated(simulation, done=count_steps(total))
    write_result(out, result)
    if out != "-":
        print_summary(simulation.title, summaries, simulation.figures)
    seconds = time.monotonic() - began
    print_message(
        f"{counted(total, 'step')} in {seconds:.1f} s, {total / seconds:,.0f}/s; curves and all figures: {out}"
    )
    return 0


@study.command(short_help="Draw a study's curves as PNG and SVG.")
@click.argument("results", metavar="RESULTS...", nargs=-1, required=True, type=click.Path())
@command_option(
    "-o", "--out", default=".", show_default=True, named=True, metavar="FOLDER", help="Where the figures are written."
)
@command_option(
    "--curve",
    multiple=True,
    metavar="NAME",
    help="A curve to draw, such as truth, length or, of training, held_out_truth. May be repeated. [default: all]",
)
@command_option("--arm", multiple=True, metavar="NAME", help="An arm to draw. May be repeated. [default: all]")
@command_option(
    "--over",
    default="step",
    show_default=True,
    type=click.Choice(["step", "kl", "groups", "calls"]),
    help="What curves are drawn against: steps; or, for held-out prompts, KL, judged groups or the judge's answers.",
)
@click.option("--differences", is_flag=True, help="Draw each arm's paired differences from its control arm instead.")
def figures(
    results: tuple[str, ...],
    out: str,
    curve: tuple[str, ...],
    arm: tuple[str, ...],
    over: Against,
    *,
    differences: bool,
) -> int:
    """Draw the curves in RESULTS: a result file of a study, or the folder of one or of a watched run.

    Each curve is a PNG and an SVG. Several watched runs are drawn together, each as an arm.

    Lines are means over runs, and bands are 95 % t-intervals. Of a comparison of judges (comparison.json) rewrites,
    per_unit and drift are drawn, with a point and an interval for each judge. Existing figures of the same names are
    replaced.

    \b
    calipers study figures simulation.json -o figures
    calipers study figures simulation.json --curve truth --curve length --differences
    calipers study figures order/results.json --curve truth --over kl --arm content --arm arrival
    calipers study figures runs/one runs/two --curve audit_gap

    Exit code: 0 drawn, 2 bad usage, or a file that is no result of a study.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.study.comparison.drawing import read_comparison  # noqa: PLC0415 - --help stays quick
    from calipers.study.figures import save_figure  # noqa: PLC0415 - likewise

    for flag, names in (("--curve", curve), ("--arm", arm)):
        if twice := [name for name in names if names.count(name) > 1]:
            raise ConfigError(f"{flag} {twice[0]}: is named {names.count(twice[0])} times")
    compared = read_comparison(results[0]) if len(results) == 1 else None
    if compared is not None:
        if differences or arm or over != "step":
            raise ConfigError("--arm, --over and --differences are for curves; a comparison of judges has none")
        drawn = _drawn_comparison(compared, results[0], curve)
    else:
        drawn = _drawn_curves(results, curve, arm, over, differences=differences)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be made a folder ({error.strerror})") from error
    stem = Path(results[0]).resolve().name.removesuffix(".json") if len(results) == 1 else "runs"
    end = f"{'' if over == 'step' else f'-over-{over}'}{'-differences' if differences else ''}"
    for name, figure in drawn:
        for path in save_figure(figure, folder / f"{stem}-{name}{end}"):
            click.echo(path)
    return 0


def _drawn_comparison(found: Mapping[str, Any], where: str, names: tuple[str, ...]) -> list[tuple[str, Figure]]:
    """Return the figures of a comparison of judges; by default of all that was measured, with a note on the rest."""
    from calipers.study.comparison.drawing import DRAWN, draw_comparison, measured_in  # noqa: PLC0415 - --help stays quick

    known = measured_in(found, where)
    shown = names or (_measured(DRAWN, known) if known else tuple(DRAWN))  # drawing says why nothing is there
    return [(name, draw_comparison(found, name, where=where)) for name in shown]


def _drawn_curves(
    results: tuple[str, ...], names: tuple[str, ...], arms: tuple[str, ...], over: Against, *, differences: bool
) -> list[tuple[str, Figure]]:
    """Return the figures of a study's curves; by default of all that were measured, with a note on the rest."""
    from calipers.study.curves import HELD_OUT, measured_names, read_runs  # noqa: PLC0415 - --help stays quick
    from calipers.study.figures import draw_curve  # noqa: PLC0415 - likewise

    read = {False: read_runs(results, over=over)}
    if over == "step" and any(name.startswith(HELD_OUT) for name in names):
        read[True] = read_runs(results, held_out=True)
    if not names:
        every = tuple(name for name in read[False].names if name != over)
        known = measured_names(read[False], compared=differences, arms=arms)
        names = _measured(every, known) if known else every  # drawing says why nothing is there
    drawn = []
    for name in names:
        held_out = over == "step" and name.startswith(HELD_OUT)
        of_points = name if over == "step" else name.removeprefix(HELD_OUT)  # all of them are of held-out prompts
        drawn.append((name, draw_curve(read[held_out], of_points, differences=differences, arms=arms)))
    return drawn


def _measured(names: Iterable[str], known: Container[str]) -> tuple[str, ...]:
    """Return the names that are known, and print the others."""
    found: list[str] = []
    unknown: list[str] = []
    for name in names:
        (found if name in known else unknown).append(name)
    if unknown:
        print_message(f"Not drawn, because nothing was measured: {', '.join(unknown)}")
    return tuple(found)
