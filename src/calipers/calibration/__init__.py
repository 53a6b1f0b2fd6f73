"""Measure how reliable a judge is, on groups with gold scores, from recorded judgments.

``calibrate`` does everything for recorded judgments; ``collect.collect_judgments`` obtains them from a judge. Importing
this package imports numpy, so calipers imports the package only where it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from calipers.calibration import metrics, series
from calipers.calibration.choice import Choice, choose_way
from calipers.calibration.findings import (
    Finding,
    findings_about_choice,
    findings_about_differences,
    findings_about_input,
    findings_about_series,
)
from calipers.calibration.metrics import Difference, JudgeFigures, plain
from calipers.calibration.recommend import recommendation_toml
from calipers.calibration.records import Key, Measure, Record, as_records
from calipers.calibration.ways import Way, measured_ways
from calipers.config.settings import Settings
from calipers.errors import ConfigError, InputError
from calipers.inputs import read_groups
from calipers.types.encoding import finite_number

__all__ = ["Calibration", "Finding", "JudgeFigures", "Record", "Way", "calibrate"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of a calibration: the figures of each judge in ``judges``.

    ``recommendation`` is TOML for calipers.toml, and ``findings`` are warnings. ``ways`` are all measured ways to query
    judges, with the best panels of them; ``choice`` is the way that the recommendation describes (None if there is
    nothing to choose). ``problems`` are the lines that could not be read. ``differences`` compare every two rows of
    ``judges`` on the same groups.
    """

    judges: tuple[JudgeFigures, ...]
    recommendation: str
    findings: tuple[Finding, ...]
    ways: tuple[Way, ...] = ()
    choice: Choice | None = None
    problems: tuple[InputError, ...] = ()
    differences: tuple[Difference, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON report: plain objects, with None for unknown figures."""
        answer = metrics.difference_lines(self.differences, {})[-1:]
        return {
            "judges": [judge.to_dict() for judge in self.judges],
            "answer": answer[0] if answer else None,
            "differences": plain(self.differences),
            "recommendation": self.recommendation,
            "ways": [plain(way.to_dict()) for way in self.ways],
            "search": None if self.choice is None else plain(self.choice.to_dict()),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __repr__(self) -> str:
        """Show the fidelity of each judge in one line; ``to_dict`` has all figures."""
        shown = [
            f"{judge.judge} fidelity {plain(judge.advantage_fidelity)} in {judge.groups} groups"
            for judge in self.judges
        ]
        return f"Calibration({'; '.join(shown)})"


def calibrate(
    groups: str | os.PathLike[str] | Iterable[object],
    judgments: str | os.PathLike[str] | Iterable[object],
    *,
    per_group: Mapping[Measure, float] | None = None,
    rubrics: Mapping[str, str] | None = None,
    asked: Mapping[Key, Settings] | None = None,
    on_error: Callable[[InputError], None] | None = None,
) -> Calibration:
    """Measure judges by their recorded ``judgments`` of ``groups`` whose members have ``gold``.

    ``groups`` is a groups file, or an iterable of groups as for ``score_group``; ``judgments`` is a file of recorded
    answers (docs/calibration.md), or an iterable of its objects. ``per_group`` limits the cost of a group, as in
    ``{"tokens": 20000}`` (or usd, shown, calls): the recommendation is the best way within this limit. ``rubrics`` are
    the rubric files of prompt variants by name, so that the recommendation can name them. ``asked`` are the settings of
    judges that ``collect_judgments`` has asked (its ``settings_by_key``), so that the recommendation asks with them.
    Lines that cannot be read are passed to ``on_error``, listed in ``problems`` and skipped. Groups and judgments may
    also be data frames or datasets. Raises InputError for a missing or empty file, ConfigError for a limit that cannot
    be meant.
    """
    _require_limit(per_group)
    problems: list[InputError] = []

    def complain(error: InputError) -> None:
        problems.append(error)
        if on_error is not None:
            on_error(error)

    is_empty = isinstance(groups, list | tuple) and not groups
    frame = series.Frame.of([] if is_empty else read_groups(groups, on_error=complain))
    built, tally = series.build_series(as_records(judgments, on_error=complain), frame)
    drawn = [series.fidelity_curve(judged, judged.gold(frame)) for judged in built]
    measured = tuple(
        metrics.figures_of_series(judged, frame, curve) for judged, curve in zip(built, drawn, strict=True)
    )
    alone = measured_ways(built, drawn, frame)
    choice = choose_way(alone, per_group, built, frame)
    findings = list(findings_about_input(frame, tally))
    for judge_series, judge in zip(built, measured, strict=True):
        findings += findings_about_series(judge_series, judge)
    differences = metrics.paired_differences(built, measured, frame)
    findings += (*findings_about_differences(differences), *findings_about_choice(choice, frame))
    return Calibration(
        measured,
        recommendation_toml(choice, measured, per_group, rubrics, asked),
        tuple(findings),
        (*alone, *(choice.panels if choice else ())),
        choice,
        tuple(problems),
        differences,
    )


def _require_limit(per_group: object) -> None:
    """Raise ConfigError for a limit that cannot be meant."""
    limits = per_group if isinstance(per_group, Mapping) else {} if per_group is None else {None: None}
    known = get_args(Measure)
    if any(name not in known or (finite_number(most) or 0) <= 0 for name, most in limits.items()):
        raise ConfigError(
            f"per_group={per_group!r}: it must be a mapping of {', '.join(known)}, as in {{'tokens': 20000}}"
        )
