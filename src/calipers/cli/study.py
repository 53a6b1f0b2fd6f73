"""``calipers study``: what a judge does to the policy that is rewarded by it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import print_message, tells_if_interrupted
from calipers.errors import ConfigError
from calipers.types.encoding import counted

if TYPE_CHECKING:
    from calipers.study.figures import Against
    from calipers.study.training.results import ArmSummary, Validity
    from calipers.study.training.settings import Study

_WIDTH = 160
_SHOWN: Final = {
    "held_out_truth": "truth",
    "length": "length",
    "held_out_overconfident": "overconfident",
    "first_length_pull": "first pull of length",
}
"""Figures in the table, with their headings; results.json has all."""


@click.group(short_help="Study what a judge does to a policy.")
def study() -> None:
    """Study what a judge's bias, noise and failures do to the policy that is rewarded by it."""


@study.command(short_help="Train a small policy with GRPO under judges, on a CPU.")
@click.argument("config", default="smoke")
@command_option(
    "-o",
    "--out",
    default="study",
    show_default=True,
    named=True,
    metavar="DIR",
    help="The folder of the study: its runs and results.json. A study in it goes on.",
)
@command_option(
    "--policy",
    type=click.Choice(["gpt", "closed-form"]),
    help="What is trained: a tiny transformer, or seven numbers with exact gradients. [default: the config's]",
)
@command_option("--steps", type=click.IntRange(1), help="Steps of each run. [default: the config's]")
@command_option("--seeds", type=click.IntRange(1), help="Runs of each arm. [default: the config's]")
@command_option(
    "--workers", default=1, show_default=True, type=click.IntRange(1), help="Runs at the same time, each on one core."
)
@click.option("--check", is_flag=True, help="Check the config, print what would be run, and stop.")
@click.option("--show", is_flag=True, help="Print the TOML of a study of calipers instead of running it.")
def train(
    config: str,
    out: str,
    policy: str | None,
    steps: int | None,
    seeds: int | None,
    workers: int,
    *,
    check: bool,
    show: bool,
) -> int:
    """Train a small policy as CONFIG says: a TOML file, or the name of a study that comes with calipers.

    Every arm (a judge, how it is asked, settings) is trained with the same seeds, and arms are compared run by run. The
    task is drawn anew for every step, and its truth is known. Nothing is downloaded; judges are simulated unless the
    config names others. A study that was interrupted goes on with the runs that are missing.

    \b
    calipers study train smoke -o smoke
    calipers study train failures --policy closed-form -o failures
    calipers study train order --check
    calipers study train smoke --show > mine.toml
    calipers study train mine.toml -o mine --seeds 20 --workers 2

    Exit code: 0 all runs are made, 1 some failed, 2 bad usage or configuration.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.study.training.study_file import read_study, scenario_text  # noqa: PLC0415 - --help stays quick

    if show:
        click.echo(scenario_text(config), nl=False)
        return 0
    file = read_study(config, steps=steps, seeds=seeds, policy=policy)
    _announce(file.study)
    if check:
        return 0
    from calipers.study.training.matrix import make_runs  # noqa: PLC0415 - likewise
    from calipers.study.training.results import RESULTS, write_results  # noqa: PLC0415 - likewise

    failed: dict[str, str] = {}
    with tells_if_interrupted("Run the same command again to continue."):
        failed = make_runs(file, Path(out), workers=workers, tell=print_message)
    summaries, valid = write_results(file.study, Path(out), failed)
    _print(file.study, summaries)
    _print_validity(valid)
    for name, why in failed.items():
        print_message(f"Failed: {name}: {why.strip()}")
    print_message(f"Curves and all figures: {Path(out) / RESULTS}")
    return 1 if failed else 0


def _announce(study: Study) -> None:
    """Print the size of the matrix, and the smallest effect that it can see, before anything is run."""
    from calipers.study.training.matrix import runs_of  # noqa: PLC0415 - --help stays quick
    from calipers.study.training.results import smallest_effect  # noqa: PLC0415 - likewise

    arms, runs = len(study.arms), len(runs_of(study))
    print_message(
        f"{counted(arms, 'arm')}, {counted(runs, 'run')} of {counted(study.steps, 'step')}, policy {study.policy}"
    )
    by_name = {arm.name: arm for arm in study.arms}
    for count in sorted({min(arm.seeds, by_name[arm.against].seeds) for arm in study.arms if arm.against}):
        if (effect := smallest_effect(count)) is not None:
            print_message(
                f"With {count} paired seeds, the smallest difference that can be seen (80 % power) is {effect:.2f} "
                "standard deviations of the difference between two runs of a seed"
            )


def _print(study: Study, summaries: list[ArmSummary]) -> None:
    from calipers.cli.terminal import print_figures, table_console  # noqa: PLC0415 - --help stays quick

    heads = [head for name in _SHOWN.values() for head in (name, "less control", "can see")]
    rows = []
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


@study.command(short_help="Draw a study's curves as PNG and SVG.")
@click.argument("results", type=click.Path())
@command_option(
    "-o", "--out", default=".", show_default=True, named=True, metavar="FOLDER", help="Where the figures are written."
)
@command_option(
    "--curve",
    multiple=True,
    metavar="NAME",
    help="A curve to draw, such as truth, length or held_out_truth. May be repeated. [default: all]",
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
    results: str, out: str, curve: tuple[str, ...], arm: tuple[str, ...], over: Against, *, differences: bool
) -> int:
    """Draw the curves in RESULTS: the folder of a study, or its results.json. Each is a PNG and an SVG.

    \b
    calipers study figures order --curve length --arm "content early" --arm "arrival early"
    calipers study figures length --curve length --differences
    calipers study figures order --curve truth --over kl

    Exit code: 0 drawn, 2 bad usage, or a file that is no result of a study.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.config.option import did_you_mean  # noqa: PLC0415 - --help stays quick
    from calipers.study import figures as drawing  # noqa: PLC0415 - likewise

    title, arms = drawing.read_curves(results, over)
    known = [one.name for one in arms]
    for name in arm:
        if name not in known:
            raise ConfigError(f"the study has no arm {name!r:.60}.{did_you_mean(name[:60], known)}")
    kept = [one for one in arms if not arm or one.name in arm]
    if differences:
        compared = drawing.differences(arms)
        kept = [one for one in compared if not arm or one.name.partition(" − ")[0] in arm]
        if not kept:
            raise ConfigError(f"none of {', '.join(arm)} is compared with another arm: leave out --differences")
    folder, stem = Path(out), Path(results).resolve().name.removesuffix(".json")
    end = f"{'' if over == 'step' else f'-over-{over}'}{'-differences' if differences else ''}"
    figures = [(name, drawing.draw_curve(title, kept, name, over)) for name in curve or drawing.measured_names(kept)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be made a folder ({error.strerror})") from error
    for name, figure in figures:
        for path in drawing.save_figure(figure, folder / f"{stem}-{name}{end}"):
            click.echo(path)
    return 0
