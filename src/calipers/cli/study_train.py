"""``calipers study train``: real GRPO on a CPU, rewarded by judges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import print_message, tells_if_interrupted
from calipers.types.counted import counted

if TYPE_CHECKING:
    from calipers.study.training.settings import TrainingStudy
    from calipers.study.training.summary import ArmSummary, Validity

_WIDTH = 160
_SHOWN: Final = {
    "held_out_truth": "truth",
    "length": "length",
    "held_out_overconfident": "overconfident",
    "first_length_pull": "first pull of length",
}
"""Figures in the table, with their headings; results.json has all."""


@click.command(short_help="Train a tiny policy with GRPO under judges, on a CPU.")
@click.argument("config", default="smoke")
@command_option(
    "-o",
    "--out",
    default="study",
    show_default=True,
    named=True,
    metavar="DIR",
    help="The folder of the study: runs, results.json, Parquet files. A study in it goes on.",
)
@command_option("--steps", type=click.IntRange(1), help="Steps of each run. [default: the config's]")
@command_option("--seeds", type=click.IntRange(1), help="Runs of each arm. [default: the config's]")
@command_option(
    "--workers", default=1, show_default=True, type=click.IntRange(1), help="Runs at the same time, each on one core."
)
@click.option("--check", is_flag=True, help="Check the config, print what would be run, and stop.")
@click.option("--show", is_flag=True, help="Print the TOML of a study of calipers instead of running it.")
def train(config: str, out: str, steps: int | None, seeds: int | None, workers: int, *, check: bool, show: bool) -> int:
    """Train a tiny transformer as CONFIG says: a TOML file, or the name of a study that comes with calipers.

    The policy is made and pre-trained on the spot; its task is drawn anew for every step, and its truth is known.
    Every arm of the matrix (a judge, how it is asked, settings) is trained with the same seeds, and arms are
    compared run by run. Nothing is downloaded; judges are simulated unless the config names others. A study that was
    interrupted goes on where it stopped.

    \b
    calipers study train smoke -o smoke
    calipers study train order --check
    calipers study train smoke --show > mine.toml
    calipers study train mine.toml -o mine --seeds 20 --workers 2

    Exit code: 0 all runs are made, 1 some failed, 2 bad usage or configuration.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.study.training import train_study  # noqa: PLC0415 - --help stays quick
    from calipers.study.training.results import stopped_runs  # noqa: PLC0415 - likewise
    from calipers.study.training.study_file import read_study, scenario_text  # noqa: PLC0415 - likewise

    if show:
        click.echo(scenario_text(config), nl=False)
        return 0
    study, text = read_study(config, steps=steps, seeds=seeds)
    _announce(study)
    if check:
        return 0
    with tells_if_interrupted("Run the same command again to continue."):
        summaries, valid, failed = train_study(study, text, Path(out), workers=workers, tell=print_message)
    _print(study, summaries)
    _print_validity(valid)
    for sentence in stopped_runs(study, Path(out)):
        print_message(f"Stopped early: {sentence}")
    for one in failed:
        print_message(f"Failed: {one.run.name}: {one.why}")
    print_message(f"Curves and all figures: {Path(out) / 'results.json'}")
    return 1 if failed else 0


def _announce(study: TrainingStudy) -> None:
    """Print the size of the matrix, and the smallest effect that it can see, before anything is run."""
    from calipers.study.training.matrix import runs_of  # noqa: PLC0415 - --help stays quick
    from calipers.study.training.summary import smallest_effect  # noqa: PLC0415 - likewise

    arms, runs = len(study.arms), len(runs_of(study))
    print_message(f"{counted(arms, 'arm')}, {counted(runs, 'run')} of {counted(study.steps, 'step')}")
    by_name = {arm.name: arm for arm in study.arms}
    pairs = {min(arm.seeds, by_name[arm.against].seeds) for arm in study.arms if arm.against}
    for count in sorted(pairs):
        effect = smallest_effect(count)
        if effect is not None:
            print_message(
                f"With {count} paired seeds, the smallest difference that can be seen (80 % power) is {effect:.2f} "
                "standard deviations of the difference between two runs of a seed"
            )


def _print(study: TrainingStudy, summaries: list[ArmSummary]) -> None:
    from calipers.cli.tables import print_figures  # noqa: PLC0415 - --help stays quick
    from calipers.cli.terminal import table_console  # noqa: PLC0415 - likewise

    heads, rows = [], []
    for head in _SHOWN.values():
        heads += [head, "less control", "can see"]
    for one in summaries:
        row = [one.name, f"against {one.against}" if one.against else ""]
        for key in _SHOWN:
            row += _figure(one, key)
        rows.append(row)
    console = table_console(width=_WIDTH)
    print_figures(console, study.title or "study", ("arm", ""), heads, rows, together=len(heads) // len(_SHOWN))


def _figure(summary: ArmSummary, key: str) -> list[str]:
    """Return a figure, its paired difference with the interval, and the smallest difference that can be seen."""
    figure, difference = summary.figures.get(key), summary.differences.get(key)
    shown = "" if figure is None else f"{figure.mean:.3g}"
    if difference is None:
        return [shown, "", ""]
    visible = "" if difference.detectable is None else f"{difference.detectable:.2g}"
    return [shown, _with_interval(difference), visible]


def _with_interval(difference: Any) -> str:
    around = "" if difference.half_width is None else f" ± {difference.half_width:.2g}"
    return f"{difference.mean:+.3g}{around}"


def _print_validity(valid: Validity) -> None:
    words = {True: "valid", False: "not valid: its arms do not count", None: "not checked wholly"}
    print_message(f"The study is {words[valid.passed]}.")
    for passed, found in valid.checks:
        print_message(f"  {'ok' if passed else 'NOT ok' if passed is False else 'unknown'}: {found}")
