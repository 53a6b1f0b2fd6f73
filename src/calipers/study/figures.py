"""Draws the curves of a study as PNG and SVG: the mean over runs of each arm, with its 95 % t-interval.

Needs matplotlib, which is imported when a figure is drawn. The same input gives the same bytes with the same version of
matplotlib.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from calipers.calibration.measures import fidelity
from calipers.config.option import did_you_mean
from calipers.errors import ConfigError, InputError
from calipers.judging.judge import Judge
from calipers.study.intervals import Estimate, estimate
from calipers.study.rewrites import REWRITES
from calipers.types import Trajectory, TrajectoryGroup, Usage
from calipers.types.counted import counted
from calipers.types.encoding import measured_number, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Against: TypeAlias = Literal["step", "kl", "groups", "calls"]
Row: TypeAlias = tuple[float | None, ...]
POINTS: Final[Mapping[Against, str]] = {
    "step": "GRPO step",
    "kl": "KL from the first policy (nats), mean over runs",
    "groups": "judged groups",
    "calls": "the judge's answers, mean over runs",
}
"""What curves are drawn against."""
_LABELS: Final = {"truth": "true quality (0 to 1)", "length": "length (tokens)", "kl": POINTS["kl"].partition(",")[0]}
HELD_OUT: Final = "held_out_"
"""How names of curves on held-out prompts begin."""
COLOURS: Final = ("#4269d0", "#d1495b", "#2a9d8f", "#e9a03b", "#8e6bbf", "#6b705c", "#1b998b", "#a44a3f")
"""Told apart by readers with colour blindness up to the fourth; further arms also differ in their dashes."""
_DASHES: Final = ("-", "--", ":", "-.")
_NAME: Final = re.compile(r"\w{1,100}")


@dataclass(frozen=True, slots=True)
class ArmCurves:
    """The curves of an arm of a study: ``runs`` maps a curve's name to a row for each run, with a number a point.

    ``at`` are the points; ``against`` is the arm that this one is compared with, run by run.
    """

    name: str
    against: str | None
    at: tuple[float, ...]
    runs: Mapping[str, tuple[Row, ...]]


def read_curves(path: str, over: Against = "step") -> tuple[str, list[ArmCurves]]:
    """Return a study's title and its arms' curves from its result file or folder.

    Over steps, names of curves on held-out prompts begin with HELD_OUT; over anything else there are no others, and
    points are means over an arm's runs. Raises InputError that names the file and what is wrong with it.
    """
    file = Path(path) / "results.json" if Path(path).is_dir() else Path(path)
    try:
        if not file.is_file():
            raise InputError(f"{file}: there is no such file; calipers study train writes it")
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["format"] != "calipers-training/1":
            raise InputError(f"{file}: format {found['format']!r:.60} is not that of a study's results")
        arms = [_arm(arm, over) for arm in found["arms"]]
        title = str(found["title"])
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{file}: is not a result file of calipers study train ({error!r:.100})") from error
    if not arms:
        raise InputError(f"{file}: it has no arms")
    return title, arms


def _arm(arm: Mapping[str, Any], over: Against) -> ArmCurves:
    held_out = _rows(arm["held_out"])
    if over == "step":
        at, rows = _points(arm["curves"]["step"]), _rows(arm["curves"])
        later = _points(arm["held_out"]["step"])
        if not set(later) - set(at) <= {max(at, default=0.0) + 1}:
            raise ValueError("held-out prompts have other steps")
        at = tuple(sorted({*at, *later}))
        every = {name: _spread(values, _points(arm["curves"]["step"]), at) for name, values in rows.items()}
        every |= {f"{HELD_OUT}{name}": _spread(values, later, at) for name, values in held_out.items()}
        return ArmCurves(str(arm["name"]), arm["against"], at, every)
    columns = [[one for one in column if one is not None] for column in zip(*held_out[over], strict=True)]
    at = tuple(estimate(column).mean for column in columns if column)
    return ArmCurves(str(arm["name"]), arm["against"], at, held_out)


def _points(values: Sequence[Any]) -> tuple[float, ...]:
    found = tuple(measured_number(one) for one in values)
    if None in found:
        raise ValueError("a step is no number")
    return tuple(one for one in found if one is not None)


def _rows(curves: Mapping[str, Any]) -> dict[str, tuple[Row, ...]]:
    found = {}
    for name, rows in curves.items():
        if not _NAME.fullmatch(name):  # files are named after curves
            raise ValueError(f"{name!r:.60} is no name of a curve")
        if name != "step":
            found[name] = tuple(tuple(measured_number(one) for one in row) for row in rows)
            if any(len(row) != len(curves["step"]) for row in found[name]):
                raise ValueError(f"{name}: a run has more or fewer points than the others")
    return found


def _spread(rows: Sequence[Row], points: Sequence[float], at: Sequence[float]) -> tuple[Row, ...]:
    """Return rows that have a number, or None, for each of the points ``at``."""
    return tuple(tuple(dict(zip(points, row, strict=True)).get(point) for point in at) for row in rows)


def differences(arms: Sequence[ArmCurves]) -> list[ArmCurves]:
    """Return the arms that are compared with another, with the differences of their runs from that arm's."""
    by_name = {arm.name: arm for arm in arms}
    found = []
    for arm in arms:
        control = by_name.get(arm.against or "")
        if control is not None and len(control.at) == len(arm.at):
            rows = {
                name: tuple(
                    tuple(None if None in pair else pair[0] - pair[1] for pair in zip(row, base, strict=True))  # type: ignore[operator]  # mypy does not narrow the pair
                    for row, base in zip(runs, control.runs.get(name, ()), strict=False)
                )
                for name, runs in arm.runs.items()
            }
            found.append(ArmCurves(f"{arm.name} − {control.name}", None, arm.at, rows))
    if not found:
        raise ConfigError("no arm of the study is compared with another, so there are no differences to draw")
    return found


def measured_names(arms: Sequence[ArmCurves]) -> list[str]:
    """Return the names of the curves that some run of the arms measured."""
    names = dict.fromkeys(name for arm in arms for name in arm.runs)
    return [name for name in names if any(_count(arm.runs.get(name, ())) for arm in arms)]


def draw_curve(title: str, arms: Sequence[ArmCurves], name: str, over: Against = "step") -> Figure:
    """Return a matplotlib figure of the curve ``name`` of a study's arms.

    Raises ConfigError if matplotlib is not installed, for a curve that no run measured, and for too many arms.
    """
    figure_class = matplotlib_figure_class()
    if name not in (known := measured_names(arms)):
        raise ConfigError(f"the study has no curve {name!r:.60}.{did_you_mean(name[:60], known)}")
    if len(arms) > (most := len(COLOURS) * len(_DASHES)):
        raise ConfigError(f"{len(arms)} arms cannot be told apart in one figure; at most {most} can: name some")
    figure = figure_class(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for number, arm in enumerate(arms):
        _draw_arm(axes, arm, arm.runs.get(name, ()), number)
    axes.set_xlabel(POINTS[over])
    held_out = name.startswith(HELD_OUT) or over != "step"
    label = name.removeprefix(HELD_OUT)
    axes.set_ylabel(f"{_LABELS.get(label, label.replace('_', ' '))}{' on held-out prompts' if held_out else ''}")
    axes.set_title(as_text(textwrap.fill(title, 80)), loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.margins(x=0.01)
    axes.legend(frameon=False, fontsize=9)
    said = "lines: means over runs; bands: 95 % t-intervals"
    axes.text(1, -0.16, said, transform=axes.transAxes, ha="right", va="top", fontsize=7.5, color="#666666")
    return figure


def _draw_arm(axes: Axes, arm: ArmCurves, rows: Sequence[Row], number: int) -> None:
    columns = [[one for one in column if one is not None] for column in zip(*rows, strict=True)]
    known = [(at, estimate(column)) for at, column in zip(arm.at, columns, strict=False) if column]
    places = [at for at, _ in known]
    colour, dashes = COLOURS[number % len(COLOURS)], _DASHES[number // len(COLOURS)]
    label = f"{as_text(arm.name)} ({counted(_count(rows), 'run')})"
    axes.plot(places, [one.mean for _, one in known], color=colour, linestyle=dashes, linewidth=1.8, label=label)
    if known and all(one.half_width is not None for _, one in known):
        lows = [one.mean - (one.half_width or 0.0) for _, one in known]
        highs = [one.mean + (one.half_width or 0.0) for _, one in known]
        axes.fill_between(places, lows, highs, color=colour, alpha=0.16, linewidth=0)


def _count(rows: Sequence[Row]) -> int:
    """Return how many runs have numbers; a run that was not made has none."""
    return sum(any(value is not None for value in row) for row in rows)


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as ``stem`` with .png and .svg, and return the paths. Raises ConfigError."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and slow to import

    paths = [stem.with_name(f"{stem.name}.{form}") for form in ("png", "svg")]
    for path in paths:
        # Without a fixed salt and date, an SVG would be another file every time.
        metadata: dict[str, Any] = {"Date": None} if path.suffix == ".svg" else {}
        with mpl.rc_context({"svg.hashsalt": "calipers", "svg.fonttype": "none"}):
            try:
                figure.savefig(path, dpi=160, metadata=metadata)
            except OSError as error:
                raise ConfigError(f"{path}: cannot be written ({error.strerror})") from error
    return paths


def as_text(text: str) -> str:
    """Return ``text`` so that matplotlib draws it as it is: it is no formula, and controls nothing."""
    return printable(text.encode("utf-8", "backslashreplace").decode()).replace("$", r"\$")


def matplotlib_figure_class() -> type[Figure]:
    """Return matplotlib's class of figures. Raises ConfigError if matplotlib is not installed."""
    try:
        from matplotlib import figure  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise ConfigError("figures need matplotlib: pip install 'calipers[study]'") from None
    found: type[Figure] = figure.Figure
    return found


Rewrite: TypeAlias = Callable[[str], str]
"""From an answer to an answer that is worth no more; an answer that it returns unchanged is not rewritten."""
GOLD: Final = "fidelity"
"""The name of the agreement with gold among the figures of a comparison."""


@dataclass(slots=True)
class Compared:
    """What a judge answered: each figure by its name, with a value for each group (by its number) that shows it.

    The figures are ``GOLD``, the correlation of scores and gold within a group, and each rewrite, the score that it
    adds to an answer. ``scores`` are those of the groups as they are. ``unscored`` counts candidates without a score.
    """

    judge: str
    values: dict[str, dict[int, float]] = field(default_factory=dict)
    scores: dict[int, list[float]] = field(default_factory=dict)
    unscored: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost_usd=0.0))

    def figures(self) -> dict[str, Estimate]:
        """Return the mean of each of the judge's figures over groups, with its 95 % t-interval."""
        return {name: estimate([*found.values()]) for name, found in self.values.items() if found}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The judges of a comparison, in the order in which they were named, about ``groups`` groups."""

    judges: tuple[Compared, ...]
    groups: int

    def differences(self) -> list[tuple[str, str, str, Estimate]]:
        """Return (figure, judge, other judge, difference) for every two judges, paired by the groups of both."""
        found = []
        for one, other in itertools.combinations(self.judges, 2):
            for name in one.values.keys() & other.values.keys():
                both = sorted(one.values[name].keys() & other.values[name].keys())
                if both:
                    gaps = [one.values[name][group] - other.values[name][group] for group in both]
                    found.append((name, one.judge, other.judge, estimate(gaps)))
        return sorted(found, key=lambda one: one[0])

    def agreements(self) -> list[tuple[str, str, Estimate]]:
        """Return (judge, other judge, mean correlation of their scores within a group) for every two judges."""
        found = []
        for one, other in itertools.combinations(self.judges, 2):
            values = [
                value
                for group in sorted(one.scores.keys() & other.scores.keys())
                if (value := _correlation(one.scores[group], other.scores[group])) is not None
            ]
            if values:
                found.append((one.judge, other.judge, estimate(values)))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data for its JSON file."""
        judges = [
            {
                "judge": one.judge,
                "figures": {name: asdict(found) for name, found in one.figures().items()},
                "unscored": one.unscored,
                "calls": one.calls,
                "usage": asdict(one.usage),
            }
            for one in self.judges
        ]
        differences = [
            {"figure": name, "judge": one, "other": other, **asdict(found)}
            for name, one, other, found in self.differences()
        ]
        agreements = [{"judge": one, "other": other, **asdict(found)} for one, other, found in self.agreements()]
        return {
            "calipers_comparison": 1, "groups": self.groups, "judges": judges, "differences": differences,
            "agreements": agreements,
        }  # fmt: skip


async def compare_judges(
    groups: Sequence[TrajectoryGroup],
    judges: Mapping[str, Judge],
    rewrites: Mapping[str, Rewrite] = REWRITES,
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Ask ``judges`` (by the names to show) about ``groups`` and their ``rewrites``, one judge after the other.

    Each judge is closed after its questions. ``tell`` is called with its name before. Groups with fewer than two
    answers are left out.
    Raises ConfigError if none is left, and what ``Judge`` raises.
    """
    usable = [group for group in groups if sum(answer_of(one) is not None for one in group.trajectories) > 1]
    if not usable:
        raise ConfigError("no group has two trajectories with an answer: there is nothing to compare judges on")
    found = []
    for name, judge in judges.items():
        tell(name)
        compared = Compared(name)
        async with judge:
            await _ask(judge, usable, rewrites, compared)
        found.append(compared)
    return Comparison(tuple(found), len(usable))


async def _ask(
    judge: Judge, groups: Sequence[TrajectoryGroup], rewrites: Mapping[str, Rewrite], compared: Compared
) -> None:
    plain = await _scores(judge, groups, compared)
    for number, group in enumerate(groups):
        own, gold = plain[number], [one.gold for one in group.trajectories]
        compared.scores[number] = [own.get(one.id, math.nan) for one in group.trajectories]
        value = _correlation(compared.scores[number], [math.nan if one is None else one for one in gold])
        if value is not None:
            compared.values.setdefault(GOLD, {})[number] = value
    for name, rewrite in rewrites.items():
        chosen = [rewritten_ids(group, rewrite) for group in groups]
        numbers = [number for number, ids in enumerate(chosen) if ids[1]]
        first, second = [
            await _scores(judge, [with_rewritten(groups[n], rewrite, chosen[n][half]) for n in numbers], compared)
            for half in (0, 1)
        ]
        effects = [_effect(*both) for both in zip(first, second, (chosen[n] for n in numbers), strict=True)]
        compared.values[name] = {n: one for n, one in zip(numbers, effects, strict=True) if one is not None}


async def _scores(judge: Judge, groups: Sequence[TrajectoryGroup], compared: Compared) -> list[dict[str, float]]:
    """Return the scores of each group's trajectories by id; those without one are absent."""
    found = []
    async for result in judge.score_groups(groups, ordered=True):
        await judge.require_answering()
        compared.calls += result.judge_calls
        compared.usage = Usage.total([compared.usage, result.usage])
        compared.unscored += sum(one.score is None for one in result.trajectories)
        found.append({one.id: one.score for one in result.trajectories if one.score is not None})
    return found


def _correlation(scores: Sequence[float], others: Sequence[float]) -> float | None:
    value = float(fidelity(np.array([scores]), np.array([others]))[0])
    return None if math.isnan(value) else value


def _effect(first: Mapping[str, float], second: Mapping[str, float], chosen: Sequence[Sequence[str]]) -> float | None:
    """Return what a rewrite adds to a score: answers rewritten in the ``first`` list less those in the ``second``.

    A change of an answer's score is its own effect, with opposite signs in the two halves, and a change of the whole
    list's level, which falls out.
    """
    means = []
    for ids in chosen:
        changes = [first[one] - second[one] for one in ids if one in first and one in second]
        if not changes:
            return None
        means.append(math.fsum(changes) / len(changes))
    return (means[0] - means[1]) / 2


def rewritten_ids(group: TrajectoryGroup, rewrite: Rewrite) -> tuple[list[str], list[str]]:
    """Return the ids of a comparison's answers that ``rewrite`` changes: every other one, and the rest."""
    texts = {one.id: answer_of(one) for one in group.trajectories}
    own = [name for name, text in texts.items() if text is not None and rewrite(text) != text]
    return own[::2], own[1::2]


def with_rewritten(group: TrajectoryGroup, rewrite: Rewrite, ids: Sequence[str]) -> TrajectoryGroup:
    """Return a comparison's group in which the answers of the trajectories ``ids`` are rewritten."""
    members = [_rewritten(one, rewrite) if one.id in ids else one for one in group.trajectories]
    return replace(group, trajectories=tuple(members))


def answer_of(member: Trajectory) -> str | None:
    """Return the text of a trajectory's last message, which a comparison rewrites; None if it is no answer in text."""
    last = member.messages[-1] if member.messages else {}
    text = last.get("content")
    return text if last.get("role") == "assistant" and isinstance(text, str) and text.strip() else None


def _rewritten(member: Trajectory, rewrite: Rewrite) -> Trajectory:
    *before, last = member.messages
    return replace(member, messages=(*before, {**last, "content": rewrite(str(last["content"]))}))
