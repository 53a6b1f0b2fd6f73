"""A cascade at work: which judge scored a group and why, and the thresholds that checks have led to.

Thresholds change while a run goes on. So every result says which applied to its group, and a replay or a repeated run
takes them from there. Not responsible for when a judge is sure (``aggregators.cascade``), or for whom to ask next
(``planners.cascade``).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from calipers.aggregators.cascade import Rule, Watch, confidence, disagreement
from calipers.aggregators.resolution import without_scores
from calipers.config.score_options import Panel
from calipers.config.settings import RecordedJudge, Settings
from calipers.ledger import WritableLedger, find_equal_run
from calipers.planners.cascade import check_draw
from calipers.types import Answered, GroupResult, PlanState, RenderedGroup, Scores

_log = logging.getLogger(__name__)

_ALARM: Final = "checks show that it disagrees with the last judge more than error_limit allows where it is sure"
_TOO_LATE: Final = "the deadline passed before a judge that is sure of the group was asked"


@dataclass(frozen=True, slots=True)
class Route:
    """Which judge of a cascade scored a group: that in ``slot``, and ``why``.

    ``why`` is "sure" (its scores count), "unsure" or "unusable" (the judge before was unsure, or did not score all
    candidates), "check" (the judge before was sure, and the group was drawn for a check), "breach" (no judge before it
    is trusted any more) or "late" (the deadline passed before a judge was sure: no scores count). ``asked`` is the slot
    of the judge whose ``confidence`` decided, None if there is none. ``error`` is its disagreement with the last judge,
    known after a check. ``thresholds`` applied to the group, by slot; None: the judge was not asked.
    """

    slot: int
    why: str
    asked: int | None
    confidence: float | None
    thresholds: tuple[float | None, ...]
    error: float | None = None

    @property
    def trusted(self) -> bool:
        """Whether the scores that judging compares in a check would have counted without it."""
        threshold = None if self.asked is None else self.thresholds[self.asked]
        return threshold is not None and self.confidence is not None and self.confidence >= threshold

    def to_dict(self, judges: Sequence[RecordedJudge]) -> dict[str, Any]:
        """Return the object ``cascade`` of the result of judging a group."""
        return {
            "slot": self.slot,
            "judge": judges[self.slot].judge,
            "why": self.why,
            "confidence": self.confidence,
            "error": self.error,
            "thresholds": list(self.thresholds),
        }


def rule_of(panel: Panel) -> Rule:
    """Return the rule by which judging stops at a judge of the cascade that ``panel`` describes."""
    bases = tuple(one or 0.0 for one in thresholds_of(panel))
    return Rule(bases, panel.measure, panel.check_share)


def thresholds_of(panel: Panel) -> tuple[float | None, ...]:
    """Return the thresholds of the cascade that judging was given or, within a group, those that apply to it."""
    return tuple(panel.confidence) if isinstance(panel.confidence, Sequence) else ()


def of_last_judge(answered: Sequence[Answered]) -> tuple[Answered, ...]:
    """Return the answers of the last judge that was asked in judging a group with a cascade; only these count."""
    last = max((done.ask.slot for done in answered), default=0)
    return tuple(done for done in answered if done.ask.slot == last)


def route_of_group(
    view: RenderedGroup,
    answered: Sequence[Answered],
    settings: Settings,
    scores_of: Callable[[Sequence[Answered]], Scores],
) -> Route | None:
    """After judging a group with a cascade, return which judge scored it and why; None if no judge was asked.

    ``settings`` are those of the group. ``scores_of`` returns the scores that follow from some answers.
    """
    if not answered:
        return None
    slots = sorted({done.ask.slot for done in answered})
    slot, thresholds = slots[-1], thresholds_of(settings.panel)
    by_slot = {one: scores_of([done for done in answered if done.ask.slot == one]) for one in slots}
    why: str
    if slot == len(settings.judges) - 1:
        asked = slots[-2] if len(slots) > 1 else None
        first = next(done.ask for done in answered if done.ask.slot == slot)
        why = "breach" if asked is None else first.cause
    else:
        state = PlanState(view, tuple(answered), by_slot[slot], settings.seed, thresholds)
        step = rule_of(settings.panel).next_step(by_slot[slot], slot, thresholds[slot] or 0.0, check_draw(state, slot))
        asked, why = slot, "sure" if step == "sure" else "late"
    sure = None if asked is None else confidence(by_slot[asked], settings.panel.measure)
    error = disagreement(by_slot[asked], by_slot[slot]) if asked is not None and why == "check" else None
    return Route(slot, why, asked, sure, thresholds, error)


def decided_scores(scores: Scores, route: Route) -> Scores:
    """Return the scores that count after judging a group with a cascade: none if no judge was sure in time."""
    return without_scores(scores) if route.why == "late" else scores


def with_route(result: GroupResult, route: Route, settings: Settings) -> GroupResult:
    """After judging a group with a cascade, add to its result which judge scored it, and why."""
    if route.why == "late":
        late = tuple(replace(one, status="failed", reason=_TOO_LATE) for one in result.trajectories)
        result = replace(result, trajectories=late, status="failed")
    notes = tuple(
        f"cascade: {judge.judge} is no longer asked: {_ALARM}"
        for judge, threshold in zip(settings.judges, route.thresholds, strict=False)
        if threshold is None
    )
    found = {**result.extra, "cascade": route.to_dict(settings.judges)}
    return replace(result, extra=found, warnings=(*result.warnings, *notes))


class CascadeWatch:
    """The watch over a cascade's judges, by the checks that this process has seen. Safe to use from several threads.

    Each group gets the thresholds that hold when it begins, or those that an equal earlier run gave it.
    """

    def __init__(self, settings: Settings) -> None:
        self._lock = threading.Lock()
        self._judges = settings.judges
        limit = settings.panel.error_limit
        self._watches = [Watch.begin(base or 0.0, limit) for base in thresholds_of(settings.panel)]

    def repeated_run(self, ledger: WritableLedger, settings: Mapping[str, Any]) -> int | None:
        """Return the number of the run whose thresholds judging takes over; None if no run equals ``settings``."""
        return find_equal_run(ledger, settings)

    def settings_of_group(self, settings: Settings, recorded: Mapping[str, Any] | None) -> Settings:
        """Return ``settings`` with the thresholds for judging a group.

        ``recorded`` is the result of the group in the run that is replayed or repeated, if there is one.
        """
        found = self._recorded_thresholds(recorded)
        if found is None:
            with self._lock:
                found = tuple(None if one.breached else one.threshold for one in self._watches)
        else:
            self._take_over_breaches(found)
        return replace(settings, panel=replace(settings.panel, confidence=found))

    def seen(self, route: Route, *, replays: bool = False) -> None:
        """After judging a group, note what a check showed, except in a replay; a breach is logged once."""
        if route.error is None or route.asked is None or replays:
            return
        with self._lock:
            before = self._watches[route.asked]
            after = before.after(route.error, trusted=route.trusted)
            self._watches[route.asked] = after
        if after.breached and not before.breached:
            _log.warning(
                "cascade: %s, after %d checks: it is no longer asked in this run, and later judges score its groups. "
                "Calibrate again on recent groups.",
                f"{self._judges[route.asked].judge}: {_ALARM}",
                after.evidence.count,
            )

    def _recorded_thresholds(self, recorded: Mapping[str, Any] | None) -> tuple[float | None, ...] | None:
        route = None if recorded is None else recorded.get("cascade")
        found = route.get("thresholds") if isinstance(route, Mapping) else None
        if not isinstance(found, list) or len(found) != len(self._watches):
            return None
        return tuple(found) if all(one is None or isinstance(one, int | float) for one in found) else None

    def _take_over_breaches(self, thresholds: Sequence[float | None]) -> None:
        with self._lock:
            self._watches = [
                replace(one, breached=one.breached or threshold is None)
                for one, threshold in zip(self._watches, thresholds, strict=True)
            ]
