"""Draws the curves of a study as PNG and SVG: the mean over runs of each arm, with its 95 % t-interval.

Needs matplotlib, which is imported when a figure is drawn. The same input gives the same bytes with the same version of
matplotlib. Not responsible for reading results (``curves``).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from calipers.config.option import did_you_mean
from calipers.errors import ConfigError
from calipers.study.curves import Row, StudyCurves, count_runs, mean_curve
from calipers.study.curves import differences as curve_differences
from calipers.study.intervals import Estimate
from calipers.study.labels import POINTS, figure_label
from calipers.types.counted import counted
from calipers.types.encoding import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS: Final = ("png", "svg")
_SIZE: Final = (7.2, 4.2)
COLOURS: Final = ("#4269d0", "#d1495b", "#2a9d8f", "#e9a03b", "#8e6bbf", "#6b705c", "#1b998b", "#a44a3f")
"""Told apart by readers with colour blindness up to the fourth; further arms also differ in their dashes."""
_DASHES: Final = ("-", "--", ":", "-.")
_TITLE: Final = 80
"""Characters of a line of the title."""
_MOST_ARMS: Final = len(COLOURS) * len(_DASHES)


def draw_curve(study: StudyCurves, name: str, *, differences: bool = False, arms: Sequence[str] = ()) -> Figure:
    """Return a matplotlib figure of the curve ``name`` of every arm of a study, or of ``arms``, over its points.

    With ``differences``, each arm's runs are compared with those of its control arm that have the same seed; arms
    without a control are left out. Raises ConfigError if matplotlib is not installed, for a curve that the study does
    not have or that no run measured, an unknown arm, for too many arms to tell apart, and if nothing can be compared.
    """
    figure_class = matplotlib_figure_class()
    if name not in study.names:
        raise ConfigError(f"the study has no curve {name!r}; it has {', '.join(study.names)}")
    shown = curve_differences(study, name) if differences else [(arm, arm.runs[name]) for arm in study.arms]
    if unknown := [one for one in arms if one not in {arm.name for arm in study.arms}]:
        known = [arm.name for arm in study.arms]
        raise ConfigError(f"the study has no arm {unknown[0]!r}.{did_you_mean(unknown[0], known)}")
    shown = [(arm, rows) for arm, rows in shown if not arms or arm.name in arms]
    if not shown:
        raise ConfigError("no arm of the study is compared with another, so there are no differences to draw")
    if not any(count_runs(rows) for _, rows in shown):
        raise ConfigError(f"the curve {name!r} has no numbers: it was not measured in any run")
    if len(shown) > _MOST_ARMS:
        raise ConfigError(f"{len(shown)} arms cannot be told apart in one figure; at most {_MOST_ARMS} can")
    figure = figure_class(figsize=_SIZE, layout="constrained")
    axes = figure.subplots()
    for place, (arm, rows) in enumerate(shown):
        label = f"{arm.name} − {arm.against}" if differences else arm.name
        _draw_arm(axes, arm.at, rows, label=f"{as_text(label)} ({counted(count_runs(rows), 'run')})", place=place)
    if differences:
        axes.axhline(0, color="#333333", linewidth=0.8)
    _finish(axes, study, name, differences=differences)
    return figure


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure of a study as ``stem`` with .png and .svg, and return the paths. Raises ConfigError."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and slow to import

    paths = [stem.with_name(f"{stem.name}.{form}") for form in FORMATS]
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
    """Return ``text`` of a study so that matplotlib draws it as it is: it is no formula, and controls nothing."""
    return printable(text.encode("utf-8", "backslashreplace").decode()).replace("$", r"\$")


def matplotlib_figure_class() -> type[Figure]:
    """Return matplotlib's class of figures, for a study's. Raises ConfigError if matplotlib is not installed."""
    try:
        from matplotlib import figure  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise ConfigError("figures need matplotlib: pip install 'calipers[study]'") from None
    found: type[Figure] = figure.Figure
    return found


def _draw_arm(axes: Axes, steps: Sequence[float], rows: Sequence[Row], *, label: str, place: int) -> None:
    known = mean_curve(steps, rows)
    colour, dashes = COLOURS[place % len(COLOURS)], _DASHES[place // len(COLOURS)]
    places = [step for step, _ in known]
    axes.plot(places, [one.mean for _, one in known], color=colour, linestyle=dashes, linewidth=1.8, label=label)
    if all(one.half_width is not None for _, one in known):
        lows, highs = zip(*(_bounds(one) for _, one in known), strict=True) if known else ((), ())
        axes.fill_between(places, lows, highs, color=colour, alpha=0.16, linewidth=0)


def _bounds(one: Estimate) -> tuple[float, float]:
    half = one.half_width or 0.0
    return one.mean - half, one.mean + half


def _finish(axes: Axes, study: StudyCurves, name: str, *, differences: bool) -> None:
    label = as_text(figure_label(name))
    axes.set_xlabel(POINTS[study.over])
    axes.set_ylabel(f"difference in {label}" if differences else label)
    axes.set_title(as_text(textwrap.fill(study.title, _TITLE)), loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.margins(x=0.01)
    axes.legend(frameon=False, fontsize=9)
    axes.text(
        1, -0.16, "lines: means over runs; bands: 95 % t-intervals", transform=axes.transAxes, ha="right", va="top",
        fontsize=7.5, color="#666666",
    )  # fmt: skip
