"""Draws the curves of a study as PNG and SVG: the mean over runs of each arm, with its 95 % t-interval.

Needs matplotlib, which is imported when a figure is drawn. The same input gives the same bytes with the same version of
matplotlib.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from calipers.config.option import did_you_mean
from calipers.errors import ConfigError, InputError
from calipers.registry import import_library
from calipers.study.intervals import estimate
from calipers.types.encoding import counted, measured_number, printable

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
            raise InputError(f"{file}: there is no such file; `calipers study train ... -o DIR` writes it into DIR")
        document = json.loads(file.read_text(encoding="utf-8"))
        if document["format"] != "calipers-training/1":
            raise InputError(f"{file}: format {document['format']!r:.60} is not that of a study's results")
        arms = [_arm(arm, over) for arm in document["arms"]]
        title = str(document["title"])
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{file}: is not a result file of calipers study train: {why:.100}") from error
    if not arms:
        raise InputError(f"{file}: it has no arms")
    return title, arms


def _arm(arm: Mapping[str, Any], over: Against) -> ArmCurves:
    held_out = _rows(arm["held_out"])
    if over == "step":
        at, rows = _points(arm["curves"]["step"]), _rows(arm["curves"])
        later = _points(arm["held_out"]["step"])
        if not set(later) - set(at) <= {max(at, default=0.0) + 1}:
            raise ValueError("held-out prompts have steps that the curves lack")
        at = tuple(sorted({*at, *later}))
        every = {name: _spread(values, _points(arm["curves"]["step"]), at) for name, values in rows.items()}
        every |= {f"{HELD_OUT}{name}": _spread(values, later, at) for name, values in held_out.items()}
        return ArmCurves(str(arm["name"]), arm["against"], at, every)
    columns = [[value for value in column if value is not None] for column in zip(*held_out[over], strict=True)]
    at = tuple(estimate(column).mean for column in columns if column)
    return ArmCurves(str(arm["name"]), arm["against"], at, held_out)


def _points(values: Sequence[Any]) -> tuple[float, ...]:
    numbers = tuple(measured_number(value) for value in values)
    if None in numbers:
        raise ValueError("a step is no number")
    return tuple(number for number in numbers if number is not None)


def _rows(curves: Mapping[str, Any]) -> dict[str, tuple[Row, ...]]:
    by_name = {}
    for name, rows in curves.items():
        if not _NAME.fullmatch(name):  # files are named after curves
            raise ValueError(f"{name!r:.60} is no name of a curve")
        if name != "step":
            by_name[name] = tuple(tuple(measured_number(value) for value in row) for row in rows)
            if any(len(row) != len(curves["step"]) for row in by_name[name]):
                raise ValueError(f"{name}: a run has more or fewer points than the others")
    return by_name


def _spread(rows: Sequence[Row], points: Sequence[float], at: Sequence[float]) -> tuple[Row, ...]:
    """Return rows that have a number, or None, for each of the points ``at``."""
    return tuple(tuple(dict(zip(points, row, strict=True)).get(point) for point in at) for row in rows)


def differences(arms: Sequence[ArmCurves]) -> list[ArmCurves]:
    """Return the arms that are compared with another, with the differences of their runs from that arm's."""
    by_name = {arm.name: arm for arm in arms}
    curves = []
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
            curves.append(ArmCurves(f"{arm.name} − {control.name}", None, arm.at, rows))
    if not curves:
        raise ConfigError("no arm of the study is compared with another, so there are no differences to draw")
    return curves


def measured_names(arms: Sequence[ArmCurves]) -> list[str]:
    """Return the names of the curves that some run of the arms measured."""
    names = dict.fromkeys(name for arm in arms for name in arm.runs)
    return [name for name in names if any(_count(arm.runs.get(name, ())) for arm in arms)]


def draw_curve(title: str, arms: Sequence[ArmCurves], name: str, over: Against = "step") -> Figure:
    """Return a matplotlib figure of the curve ``name`` of a study's arms.

    Raises ConfigError if matplotlib is not installed, for a curve that no run measured, and for too many arms.
    """
    remedy = "figures need matplotlib: pip install 'calipers[study]'"
    figure_class: type[Figure] = import_library("matplotlib.figure", remedy=remedy).Figure
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
    legend = "lines: means over runs; bands: 95 % t-intervals"
    axes.text(1, -0.16, legend, transform=axes.transAxes, ha="right", va="top", fontsize=7.5, color="#666666")
    return figure


def _draw_arm(axes: Axes, arm: ArmCurves, rows: Sequence[Row], number: int) -> None:
    columns = [[value for value in column if value is not None] for column in zip(*rows, strict=True)]
    known = [(at, estimate(column)) for at, column in zip(arm.at, columns, strict=False) if column]
    places = [at for at, _ in known]
    colour, dashes = COLOURS[number % len(COLOURS)], _DASHES[number // len(COLOURS)]
    label = f"{as_text(arm.name)} ({counted(_count(rows), 'run')})"
    axes.plot(places, [point.mean for _, point in known], color=colour, linestyle=dashes, linewidth=1.8, label=label)
    if known and all(point.half_width is not None for _, point in known):
        lows = [point.mean - (point.half_width or 0.0) for _, point in known]
        highs = [point.mean + (point.half_width or 0.0) for _, point in known]
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
