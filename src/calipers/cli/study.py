"""``calipers study``: what a judge does to the policy that is rewarded by it, and the profile of a recorded judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from calipers.cli.messages import BadLines, print_message, tells_if_interrupted
from calipers.cli.output import require_replaceable, write_text
from calipers.cli.terminal import print_figures, table_console
from calipers.config.option import did_you_mean
from calipers.errors import ConfigError
from calipers.study import figures as drawing
from calipers.study.figures import Against
from calipers.study.intervals import smallest_effect
from calipers.study.profiles.measuring import measure_profile
from calipers.study.profiles.profile import profile_as_text
from calipers.study.training.matrix import make_runs, runs_of
from calipers.study.training.results import RESULTS, ArmSummary, Validity, write_results
from calipers.study.training.settings import Study
from calipers.study.training.study_file import read_study, scenario_text
from calipers.types.encoding import counted

_WIDTH: Final = 160
_SHOWN: Final = {
    "held_out_truth": "truth",
    "length": "length",
    "held_out_overconfident": "overconfident",
    "first_length_pull": "first pull of length",
}
"""Figures in the table, with their headings; results.json has all."""


def train(config: str, out: str, *, workers: int, check: bool, show: bool, **changes: Any) -> int:
    """Train policies as a study says, and return the exit code."""
    if show:
        click.echo(scenario_text(config), nl=False)
        return 0
    file = read_study(config, **changes)
    _announce(file.study)
    if check:
        return 0
    failed: dict[str, str] = {}
    with tells_if_interrupted("Run the same command again to continue."):
        failed = make_runs(file, Path(out), workers=workers, tell=print_message)
    summaries, valid = write_results(file.study, Path(out), failed)
    _print(file.study, summaries)
    _print_validity(valid)
    for name, why in failed.items():
        print_message(f"Failed: {name}: {why.strip()}")
    print_message(f"Curves and all figures: {Path(out) / RESULTS}")
    return int(bool(failed))


def _announce(study: Study) -> None:
    """Print the size of the matrix, and the smallest effect that it can see, before anything is run."""
    arms, runs = len(study.arms), len(runs_of(study))
    print_message(
        f"{counted(arms, 'arm')}, {counted(runs, 'run')} of {counted(study.steps, 'step')}, policy {study.policy}"
    )
    by_name = {arm.name: arm for arm in study.arms}
    for count in sorted({min(arm.seeds, by_name[arm.against].seeds) for arm in study.arms if arm.against}):
        if count > 1:
            print_message(
                f"With {count} paired seeds, the smallest difference that can be seen (80 % power) is "
                f"{smallest_effect(count):.2f} standard deviations of the difference between two runs of a seed"
            )


def _print(study: Study, summaries: list[ArmSummary]) -> None:
    heads = [head for name in _SHOWN.values() for head in (name, "less control", "can see")]
    rows = []
    for summary in summaries:
        row = [summary.name, f"against {summary.against}" if summary.against else ""]
        for key in _SHOWN:
            row += _figure(summary, key)
        rows.append(row)
    console = table_console(width=_WIDTH)
    print_figures(console, study.title or "study", ("arm", ""), heads, rows, together=len(heads) // len(_SHOWN))


def _figure(summary: ArmSummary, key: str) -> list[str]:
    """Return a figure, its paired difference with the interval, and the smallest difference that can be seen."""
    figure, difference = summary.figures.get(key), summary.differences.get(key)
    shown = "" if figure is None else f"{figure.mean:.3g}"
    if difference is None:
        return [shown, "", ""]
    around = "" if difference.half_width is None else f" ± {difference.half_width:.2g}"
    visible = "" if difference.detectable is None else f"{difference.detectable:.2g}"
    return [shown, f"{difference.mean:+.3g}{around}", visible]


def _print_validity(valid: Validity) -> None:
    words = {True: "valid", False: "not valid: its arms do not count", None: "not checked wholly"}
    print_message(f"The study is {words[valid.passed]}.")
    for passed, check in valid.checks:
        print_message(f"  {'ok' if passed else 'NOT ok' if passed is False else 'unknown'}: {check}")


def figures(
    results: str, out: str, curve: tuple[str, ...], arm: tuple[str, ...], over: Against, *, differences: bool
) -> int:
    """Draw a study's curves, and return the exit code."""
    title, arms = drawing.read_curves(results, over)
    known = [study_arm.name for study_arm in arms]
    for name in arm:
        if name not in known:
            raise ConfigError(f"the study has no arm {name!r:.60}.{did_you_mean(name[:60], known)}")
    drawn = drawing.differences(arms) if differences else arms
    drawn = [drawn_arm for drawn_arm in drawn if not arm or drawn_arm.name.partition(" − ")[0] in arm]
    if not drawn:
        raise ConfigError(f"none of {', '.join(arm)} is compared with another arm: leave out --differences")
    folder, stem = Path(out), Path(results).resolve().name.removesuffix(".json")
    end = f"{'' if over == 'step' else f'-over-{over}'}{'-differences' if differences else ''}"
    pages = [(name, drawing.draw_curve(title, drawn, name, over)) for name in curve or drawing.measured_names(drawn)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be made a folder ({error.strerror})") from error
    for name, figure in pages:
        for path in drawing.save_figure(figure, folder / f"{stem}-{name}{end}"):
            click.echo(path)
    return 0


def profile(groups: str, judgments: str, out: str, *, force: bool, **more: Any) -> int:
    """Measure a judge's profile from its recorded answers, write it, and return the exit code."""
    beside = {"the groups file": groups, "the judgments file": judgments}
    require_replaceable("--out", out, force=force, beside=beside)
    bad = BadLines()
    judge = measure_profile(groups, judgments, on_error=bad, **more)
    write_text("--out", out, profile_as_text(judge))
    groups = counted(judge.groups, "group")
    print_message(f"{judge.name}: {judge.judge}, {judge.asked}, {groups}. --judge profile:{out} answers like it")
    return int(bool(bad.count))
