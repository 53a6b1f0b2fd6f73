"""The rows of a watched run as curves, which ``calipers study figures`` draws. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final

from calipers.study.curves import ArmCurves, Row, StudyCurves
from calipers.study.watching.rows import FIGURES, Split, WatchedGroup

LOGGED: Final = ("kl", "length", "entropy")
"""Figures that a trainer logs, by their curves' names: ``length`` is in tokens, and ``kl`` and ``entropy`` in nats."""
_SPLITS: Final[Mapping[Split, str]] = {"train": "", "held_out": "held_out_"}


def watched_curves(
    title: str, name: str, groups: Sequence[WatchedGroup], logged: Sequence[Mapping[str, float]]
) -> StudyCurves:
    """Return the curves of a watched run: means over the groups of each step, and the trainer's own figures.

    The curves of groups on which the policy is not trained begin with "held_out_". A step without a figure has None,
    and a figure that no step has is omitted.
    """
    points: dict[str, dict[int, float]] = {}
    for split, prefix in _SPLITS.items():
        for figure in FIGURES:
            points[prefix + figure] = _means((group for group in groups if group.split == split), figure)
    for figure in LOGGED:
        points[figure] = {int(row["step"]): row[figure] for row in logged if row.get(figure) is not None}
    steps = sorted({step for values in points.values() for step in values})
    rows = {figure: (_row(values.get, steps),) for figure, values in points.items() if values}
    return StudyCurves(title, (ArmCurves(name, tuple(map(float, steps)), rows),))


def _means(groups: Iterable[WatchedGroup], figure: str) -> dict[int, float]:
    known: dict[int, list[float]] = {}
    for group in groups:
        value = getattr(group, figure)
        if value is not None:
            known.setdefault(group.step, []).append(value)
    return {step: fmean(values) for step, values in known.items()}


def _row(value_at: Callable[[int], float | None], steps: Sequence[int]) -> Row:
    return tuple(map(value_at, steps))
