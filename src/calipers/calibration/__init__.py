"""Measure how reliable a judge is, on groups with gold scores, from recorded judgments.

``calibrate`` does everything for recorded judgments; ``collect.collect_judgments`` obtains them from a judge. The rest
is pure statistics, apart from reading files. Importing this package imports numpy, so calipers imports the package only
where it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from calipers.calibration import curves, judges, panels, series, ways
from calipers.calibration.asked import Asked
from calipers.calibration.choice import Choice, Judged, choose_way
from calipers.calibration.costs import Measure
from calipers.calibration.differences import Difference, answer_of, paired_differences
from calipers.calibration.findings import (
    Finding,
    findings_about_choice,
    findings_about_input,
    findings_about_series,
)
from calipers.calibration.folds import prompts
from calipers.calibration.judges import JudgeFigures
from calipers.calibration.panel_space import units_of
from calipers.calibration.panels import PanelFigures
from calipers.calibration.recommend import recommendation_toml
from calipers.calibration.records import Key, Record, as_records
from calipers.calibration.ways import Way
from calipers.errors import ConfigError, InputError
from calipers.inputs import read_groups
from calipers.types import TrajectoryGroup
from calipers.types.counted import counted
from calipers.types.encoding import finite_number

__all__ = ["Calibration", "Finding", "JudgeFigures", "PanelFigures", "Record", "Way", "calibrate"]

_MOST_SHOWN = 6
"""The most judges that a calibration's ``repr`` shows."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of a calibration: the figures of each judge in ``judges`` and of their ``panel``.

    ``recommendation`` is TOML for calipers.toml, and ``findings`` are warnings. ``ways`` are all measured ways to query
    judges; ``choice`` is the way that the recommendation describes (None if there is nothing to choose). ``problems``
    are the lines that could not be read. ``differences`` compare every two rows of
    ``judges`` on the same groups.
    """

    judges: tuple[JudgeFigures, ...]
    panel: PanelFigures
    recommendation: str
    findings: tuple[Finding, ...]
    ways: tuple[Way, ...] = ()
    choice: Choice | None = None
    problems: tuple[InputError, ...] = ()
    differences: tuple[Difference, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration's JSON report: plain objects, with None for unknown figures."""
        return {
            "judges": [one.to_dict() for one in self.judges],
            "answer": answer_of(self.differences),
            "differences": [judges.rounded_floats(one.to_dict()) for one in self.differences],
            "panel": self.panel.to_dict(),
            "recommendation": self.recommendation,
            "ways": [judges.rounded_floats(one.to_dict()) for one in self.ways],
            "search": None if self.choice is None else judges.rounded_floats(self.choice.to_dict()),
            "findings": [one.to_dict() for one in self.findings],
        }

    def __repr__(self) -> str:
        """Show the fidelity of each judge and of the panel in one line; ``to_dict`` has all figures."""
        shown = [f"{one.judge} {_fidelity(one.advantage_fidelity, one.groups)}" for one in self.judges[:_MOST_SHOWN]]
        if len(self.judges) > _MOST_SHOWN:
            shown.append(f"{len(self.judges) - _MOST_SHOWN} more")
        if len(self.panel.members) > 1:
            shown.append(
                f"panel of {len(self.panel.members)} {_fidelity(self.panel.advantage_fidelity, self.panel.groups)}"
            )
        shown.append(counted(len(self.findings), "finding"))
        return f"Calibration({'; '.join(shown)})"

    def _repr_html_(self) -> str:
        """Return the judges' figures, the findings and the recommendation for a notebook."""
        from calipers.types import markup  # noqa: PLC0415 - only notebooks need it

        names = ("judge", "asked", "fidelity", "95 % interval", "top-1", "flips", "repeatability", "failed", "groups")
        rows = [
            (
                one.judge,
                one.asked,
                one.advantage_fidelity,
                "" if (ends := one.advantage_fidelity_interval) is None else f"{ends[0]:.3f} to {ends[1]:.3f}",
                *(one.top1, one.order_flip_rate, one.repeatability, one.failure_rate, one.groups),
            )
            for one in self.judges
        ]
        said = [one.text if one.judge is None else f"{one.judge} ({one.variant}): {one.text}" for one in self.findings]
        top = markup.heading("Calibration", "agreement with gold, over all calls of a group")
        return top + markup.table(names, rows) + markup.lines(said) + markup.code(self.recommendation)


def calibrate(
    groups: str | os.PathLike[str] | Iterable[object],
    judgments: str | os.PathLike[str] | Iterable[object],
    *,
    per_group: Mapping[Measure, float] | None = None,
    rubrics: Mapping[str, str] | None = None,
    asked: Mapping[Key, Asked] | None = None,
    on_error: Callable[[InputError], None] | None = None,
) -> Calibration:
    """Measure judges by their recorded ``judgments`` of ``groups`` whose members have ``gold``.

    ``groups`` is a groups file, or an iterable of groups as for ``score_group``; ``judgments`` is a file of recorded
    answers (docs/calibration.md), or an iterable of its objects. ``per_group`` limits the cost of a group, as in
    ``{"tokens": 20000}`` (or usd, shown, calls): the recommendation is the best way within this limit. ``rubrics`` are
    the rubric files of prompt variants by name, so that the recommendation can name them. ``asked`` are the request
    settings of judges that ``collect_judgments`` has asked (its ``asked_by_key``), so that the recommendation asks with
    them. Lines that cannot be read are passed to ``on_error``, listed in ``problems`` and skipped. Groups and
    judgments may also be data frames or datasets. Raises InputError for a missing or empty file, ConfigError for a
    limit that cannot be meant.
    """
    _require_target(per_group)
    problems: list[InputError] = []

    def complain(error: InputError) -> None:
        problems.append(error)
        if on_error is not None:
            on_error(error)

    frame = series.Frame.of(_groups(groups, complain))
    built, tally = series.build_series(as_records(judgments, on_error=complain), frame)
    drawn = [curves.fidelity_curve(one, frame.gold[list(one.rows)]) for one in built]
    measured = judges.figures_of_series(built, frame, drawn)
    panel = panels.panel_figures(built, frame)
    found = list(findings_about_input(frame, tally, len(problems)))
    for one, figures in zip(built, measured, strict=True):
        found += findings_about_series(one, figures)
    if len(panel.members) > 1 and not panel.groups:
        found.append(Finding("no_panel", "no group with gold was judged by all judges: the panel cannot be measured"))
    alone = ways.measured_ways(built, drawn, frame)
    units = units_of(built, frame)
    choice = choose_way(alone, per_group, Judged(units, frame, prompts(frame)))
    every = [*alone, *(choice.panels if choice else ())]
    found += findings_about_choice(choice, frame)
    words = recommendation_toml(choice, measured, per_group, rubrics, asked)
    return Calibration(
        measured,
        panel,
        words,
        tuple(found),
        tuple(every),
        choice,
        tuple(problems),
        paired_differences(built, measured, frame),
    )


def _fidelity(value: float | None, groups: int) -> str:
    return f"fidelity {'unknown' if value is None else f'{value:.3f}'} on {counted(groups, 'group')}"


def _groups(
    groups: str | os.PathLike[str] | Iterable[object], complain: Callable[[InputError], None]
) -> Iterable[TrajectoryGroup]:
    return [] if isinstance(groups, list | tuple) and not groups else read_groups(groups, on_error=complain)


def _require_target(per_group: object) -> None:
    """Raise ConfigError for a limit that cannot be meant."""
    limits = per_group if isinstance(per_group, Mapping) else {} if per_group is None else {None: None}
    known = get_args(Measure)
    if any(name not in known or (finite_number(most) or 0) <= 0 for name, most in limits.items()):
        raise ConfigError(
            f"per_group={per_group!r}: it limits {', '.join(known)} of a group, as in {{'tokens': 20000}}"
        )
