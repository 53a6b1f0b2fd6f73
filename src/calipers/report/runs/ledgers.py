"""A run of a ledger for the page: rewards, health metrics, length, exploits and spend over its groups, and alarms.

Groups are added one at a time. Memory holds a block of them, the last 256 for alarms, and a few hundred points. Not
responsible for the metrics (``monitoring``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from calipers.monitoring.behaviour import behaviour
from calipers.monitoring.staleness import NewestVersion
from calipers.report.recorded import recorded_answers, recorded_result
from calipers.report.runs.panels import LEDGER_PANELS
from calipers.report.runs.shapes import MOST_POINTS, Curves, Point, panels_of, point_of
from calipers.report.runs.tallies import Alarms, Seen, Tally, metrics_of
from calipers.report.sources import Judged
from calipers.study.intervals import estimate
from calipers.study.watching.rows import watched_group
from calipers.trainers.rollouts.steps import HELD_OUT
from calipers.types import GroupResult

_FEWEST: Final = 8
"""Groups of a point if the run's groups have no steps: a correlation needs that many pairs."""
_LATEST: Final = 8
"""By how many steps a group may be late. Where steps fall by more, they are no training steps of one run."""
_MOST_LATE: Final = 0.25
"""The share of groups that may be late; likewise."""
_FIGURES: Final = ("reward", "truth", "truth_gap", "truth_fidelity", "characters")
_BEHAVIOUR: Final = ("messages", "tool_calls", "repetition", "refusal_rate")

_End: TypeAlias = tuple[int, int | None]
"""Where a point of a curve begins or ends: the number of a group in the run, and its step, if it has one."""


@dataclass(frozen=True, slots=True)
class _Added:
    """A group of the block that is open: its step, what metrics need of it, and its own figures."""

    step: int | None
    seen: Seen
    figures: Mapping[str, float]


class RecordedRun:
    """A run whose groups are added in the order of the page. ``expected`` is how many groups of it are recorded."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._size = -(-expected // MOST_POINTS) or 1
        self._block: list[_Added] = []
        self._curves = Curves()
        self._ends: list[_End] = []
        self._begins: list[_End] = []
        self._rows: list[dict[str, Any]] = []
        self._tally = Tally()
        self._alarms = Alarms(expected)
        self._newest = NewestVersion()
        self._has_truth = False
        self._late = 0

    def add(self, judged: Judged, row: int) -> None:
        """Add a judged group of the run; ``row`` is its number in the page."""
        step = self._in_order(step_of(judged))
        if self._block and self._is_full(step):
            self._close()
        # A prompt in another epoch has the same group id but other rollouts, so every group gets an id of its own here.
        own = str(self._tally.groups)
        result = self._newest.dated(replace(recorded_result(judged.result), group_id=own))
        answers = [replace(one, group_id=own) for one in recorded_answers(judged, begun=judged.began or "")]
        self._tally.add(result, answers, judged.questions)
        self._alarms.add((result, answers), step)
        if not self._block:
            self._begins.append((self._tally.groups, step))
            self._rows.append({"rows": [row, row], "groups": 0})
        self._rows[-1]["rows"][1] = row
        self._rows[-1]["groups"] += 1
        figures = _figures(judged, result)
        self._has_truth = self._has_truth or not figures.keys().isdisjoint({"truth", "held_out_truth"})
        self._block.append(_Added(step, (result, answers), figures))

    def finish(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Return the run for the page; ``about`` is what else is known: ``name``, ``facts``, ``counts``.

        Further groups may be added after that.
        """
        ends, curves = [*self._ends], self._curves.copy()
        if self._block:
            self._add_point(ends, curves)
        by_step = _has_steps(ends) and self._late <= _MOST_LATE * self._tally.groups
        panels, steady = panels_of(LEDGER_PANELS, curves)
        alarms = [
            one | {key: None if one[key] is None else one[key][by_step] for key in ("at", "until")}
            for one in self._alarms.raised
        ]
        return {
            "kind": "ledger",
            "title": "",
            **about,
            "facts": [*about["facts"], *self._tally.facts()],
            "x": "step" if by_step else "group",
            "at": [end[by_step] for end in ends],
            "from": [begin[by_step] for begin in self._begins],
            "panels": panels,
            "steady": steady,
            "counts": [*self._tally.counts(), *about["counts"]],
            "alarms": alarms,
            "alarms_are": "alarms that a monitor with default thresholds raises",
            "examples": self._rows,
            "lacks": list(self._lacks(ends, by_step=by_step)),
        }

    def _in_order(self, step: int | None) -> int | None:
        """Return the step that a group counts for: groups of an asynchronous trainer may come after those of the next
        steps, and then count for these.
        """
        last = self._block[-1].step if self._block else self._ends[-1][1] if self._ends else None
        if step is None or last is None or not 0 < last - step <= _LATEST:
            return step
        self._late += 1
        return last

    def _is_full(self, step: int | None) -> bool:
        if step is None:
            return len(self._block) >= max(self._size, _FEWEST)
        return len(self._block) >= self._size and step != self._block[-1].step

    def _close(self) -> None:
        self._add_point(self._ends, self._curves)
        self._block = []

    def _add_point(self, ends: list[_End], curves: Curves) -> None:
        """Add the point of the open block."""
        found = metrics_of([one.seen for one in self._block])
        values: dict[str, Point] = {name.removeprefix("judge/"): (value, None) for name, value in found.items()}
        for name in dict.fromkeys(name for one in self._block for name in one.figures):
            values[name] = point_of(estimate([one.figures[name] for one in self._block if name in one.figures]))
        values["used_input_tokens"] = (self._tally.input_tokens, None)
        values["used_output_tokens"] = (self._tally.output_tokens, None)
        if self._tally.usd is not None:
            values["spent_usd"] = (self._tally.usd, None)
        ends.append((self._tally.groups, self._block[-1].step))
        curves.add(self._tally.groups, values)

    def _lacks(self, ends: Sequence[_End], *, by_step: bool) -> list[str]:
        shown = self._tally.groups
        if not shown:
            return ["None of its groups is among the results." if self._expected else "No group is finished yet."]
        found = []
        if shown < self._expected:
            found.append(
                f"{shown:,} of the run's {self._expected:,} groups are among the results, and only these count."
            )
        lasts, firsts = ([one[by_step] for one in ones] for ones in (ends, self._begins))
        if not by_step:
            found.append("The groups have no training step (the key step): curves are over groups in their order here.")
        if lasts != firsts:
            size = -(-self._tally.groups // len(ends))
            found.append(f"Each point of a curve stands for some {size:,} groups.")
        if not self._has_truth:
            found.append("Agreement with gold is not known: no trajectory has gold.")
        return found


def _has_steps(ends: Sequence[_End]) -> bool:
    """Whether all groups of a run have steps, which do not fall: only then are they what curves are drawn over."""
    known = [step for _, step in ends if step is not None]
    return bool(ends) and len(known) == len(ends) and known == sorted(set(known))


def step_of(judged: Judged) -> int | None:
    """Return the training step of a judged group: its key ``step``, or that of all its trajectories' metadata."""
    for group in (judged.group, judged.recorded):
        if group is None:
            continue
        for stated in ([group.extra.get("step")], [one.metadata.get("step") for one in group.trajectories]):
            step = stated[0] if stated else None
            if isinstance(step, int) and not isinstance(step, bool) and all(one == step for one in stated):
                return step
    return None


def _figures(judged: Judged, result: GroupResult) -> dict[str, float]:
    """Return the figures of one group whose means over groups are points, without those that are not known.

    Those of a group that is not trained on have names of their own.
    """
    group = judged.group or judged.recorded
    found: dict[str, float | None] = {"calls": result.judge_calls}
    if group is not None:
        gold = {one.id: one.gold for one in group.trajectories if one.gold is not None}
        row = watched_group(group, result, step=0, split="train", opinions={"truth": gold} if gold else {})
        found |= {name: getattr(row, name) for name in _FIGURES}
        counted = behaviour(group.trajectories)
        found |= {name: counted.get(f"policy/{name}") for name in _BEHAVIOUR}
    prefix = "" if group is None or group.extra.get("split") != HELD_OUT else "held_out_"
    return {prefix + name: value for name, value in found.items() if value is not None}
