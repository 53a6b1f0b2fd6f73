"""The shapes in which runs and studies reach the page: panels with lines, each a mean with half its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from calipers.study.intervals import Estimate

MOST_POINTS: Final = 200
"""The most points of a curve in the page; longer runs are shown as means of consecutive steps or groups."""

Point: TypeAlias = tuple[float, float | None]
"""A mean, and half the width of its 95 % interval, None where that is not known."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart of a run: the ``lines`` that are drawn, by the names of their series, with a label for each.

    It is drawn ``always``, or else only if one of its lines is not the same throughout. Its values are ``within`` these
    bounds, None for no bound: no interval is drawn beyond.
    """

    key: str
    title: str
    lines: Mapping[str, str]
    note: str = ""
    always: bool = False
    within: tuple[float | None, float | None] = (None, None)


@dataclass(slots=True)
class Curves:
    """The series of a run by name, all over the points ``at``; None where a series has no value."""

    at: list[float] = field(default_factory=list)
    series: dict[str, list[Point | None]] = field(default_factory=dict)

    def add(self, at: float, values: Mapping[str, Point]) -> None:
        """Add a point of the run, with the series that have a value there."""
        for name, value in values.items():
            self.series.setdefault(name, [None] * len(self.at)).append(value)
        self.at.append(at)
        for points in self.series.values():
            if len(points) < len(self.at):
                points.append(None)

    def copy(self) -> Curves:
        """Return curves of their own with the same points."""
        return Curves([*self.at], {name: [*points] for name, points in self.series.items()})


def short(value: float | None) -> float | None:
    """Return a number for a run's page, with five significant digits."""
    return None if value is None else float(f"{value:.5g}")


def point_of(found: Estimate) -> Point:
    """Return a study's estimate as a point of a curve."""
    return found.mean, found.half_width


def panels_of(panels: Iterable[Panel], curves: Curves) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a run's panels as data, and the lines with one value throughout, which no chart has to show.

    A panel without a known series is left out.
    """
    shown: list[dict[str, Any]] = []
    steady: list[dict[str, Any]] = []
    for panel in panels:
        lines = []
        for name, label in panel.lines.items():
            known = [one for one in curves.series.get(name, ()) if one is not None]
            if known and not panel.always and len({mean for mean, _ in known}) == 1:
                steady.append({"title": panel.title, "label": label, "value": short(known[0][0])})
            elif known:
                lines.append(line_of(label, curves.series[name]))
        if lines:
            about = {"key": panel.key, "title": panel.title, "note": panel.note, "within": list(panel.within)}
            shown.append({**about, "lines": lines})
    return shown, steady


def line_of(label: str, points: Sequence[Point | None]) -> dict[str, Any]:
    """Return a line of a run's chart: ``mean``, and ``half`` the interval's width, None if it is known nowhere."""
    halves = [None if one is None else short(one[1]) for one in points]
    return {
        "label": label,
        "mean": [None if one is None else short(one[0]) for one in points],
        "half": halves if any(one is not None for one in halves) else None,
    }
