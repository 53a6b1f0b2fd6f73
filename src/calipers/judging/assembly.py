"""Chooses the strategies that the settings name: protocol, planner, aggregator and reward transform.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from calipers import registry
from calipers.aggregators.pair_bias import BiasCorrected
from calipers.aggregators.panel import Fallback as FallbackScores
from calipers.aggregators.panel import Panel
from calipers.aggregators.resolution import StoppingRule
from calipers.aggregators.two_way import TwoWay, two_way
from calipers.config.grouped_options import Observer, Records
from calipers.config.settings import Settings
from calipers.errors import without_exit
from calipers.guard.canary import CanaryAmong, CanaryFirst
from calipers.interfaces import Aggregator, JudgingProtocol, Planner, RewardTransform
from calipers.judging.loop import Strategies
from calipers.planners.first_asks import Chunks, FirstAsks
from calipers.planners.follow_ups import FollowUps
from calipers.planners.panel import Cycle, Everyone, Fallback
from calipers.planners.resolving import Resolving, Swapping
from calipers.protocols.question import Parse
from calipers.rewards.reliable import Shrunk
from calipers.types import GroupResult

_PANELS: Final[Mapping[str, type[Everyone | Cycle | Fallback]]] = {
    "all": Everyone,
    "cycle": Cycle,
    "fallback": Fallback,
}

_USUAL_SPREAD = 0.03
"""The variance of scores within a group that is assumed for a judge without answers in the ledger: a weak prior."""


def build_strategies(settings: Settings, parse: Parse | None) -> Strategies:
    """Build the judging strategies for every group of a run; ``parse`` is a user's function that reads replies."""
    return Strategies(_protocol(settings, parse), _planner(settings), _aggregator(settings), _reward(settings))


def observers_of(records: Records) -> tuple[tuple[Observer, ...], tuple[Callable[..., GroupResult], ...]]:
    """Return what sees every answer of a judge, and what sees every finished group, from the ``watchers``."""
    seen = [watcher.seen for watcher in records.watchers if hasattr(watcher, "seen")]
    observers: list[Any] = [
        getattr(watcher, "observe", None if hasattr(watcher, "seen") else watcher) for watcher in records.watchers
    ]
    if records.debug:
        from calipers.judging.describe import print_answer  # noqa: PLC0415 - few judges print

        observers.append(print_answer)
    return tuple(map(without_exit, filter(None, observers))), tuple(map(without_exit, seen))


def _protocol(settings: Settings, parse: Parse | None) -> JudgingProtocol:
    method = registry.find_method(settings.protocol)
    more: dict[str, Any] = {"rubric": settings.rubric, "parse": parse}
    path = method.protocol
    if method.graded:
        more = {"grading": settings.grading}
    elif settings.question.expected:
        path = method.expected
    calls = settings.calls
    built: JudgingProtocol = registry.load_object(path)(max_tokens=calls.max_tokens, params=calls.params or {}, **more)
    if share := settings.defence.share:
        built = (CanaryAmong if settings.protocol == "listwise" else CanaryFirst)(built, share, settings.seed)
    return built


def _planner(settings: Settings) -> Planner:
    """Build the planner of the questions to a judge or panel.

    It plans the protocol's first questions to each judge, then follow-ups to answers that cannot be used fully, then
    further questions that resolve close scores.
    """
    first = _first_asks(settings)
    sharing = len(settings.judges) if settings.panel.mode == "cycle" else 1
    inner: Planner = FollowUps(first, settings.question.reasks, sharing)
    resolve = settings.resolve
    if resolve is None:
        return inner
    if settings.protocol == "pairwise":
        return Swapping(inner, {slot: swaps.swap_share for slot, swaps in _priors(settings, "swaps").items()})
    spreads = _priors(settings, "spread").values()
    spread = sum(spreads) / len(spreads) if spreads else _USUAL_SPREAD
    return Resolving(inner, first, StoppingRule(spread, resolve.tolerance, resolve.most).should_stop)


def _first_asks(settings: Settings) -> FirstAsks:
    orders, judges = settings.orders, len(settings.judges)
    has_noise = len(_priors(settings, "noise")) == judges
    if settings.resolve is not None and settings.protocol != "pairwise" and not has_noise:
        # Resolving needs standard errors, which take at least two calls if no judge's noise is known.
        orders = orders if judges > 1 and settings.panel.mode == "all" else max(orders, 2)
    first: FirstAsks
    if settings.question.at_once is not None:
        first = Chunks(orders, settings.samples, settings.question.at_once)
    else:
        method = registry.find_method(settings.protocol)
        first = registry.load_object(method.planner)(orders, settings.samples, **_grading(settings))
    return first if judges == 1 else _PANELS[settings.panel.mode](first, judges)


def _priors(settings: Settings, kind: str) -> dict[int, Any]:
    """Return one kind of priors by the slot of each judge that has them."""
    judges = () if settings.experience is None else settings.experience.judges
    return {slot: value for slot, judge in enumerate(judges) if (value := getattr(judge, kind)) is not None}


def _grading(settings: Settings) -> dict[str, Any]:
    """Return the argument ``grading`` for a strategy, if the protocol is about criteria."""
    return {"grading": settings.grading} if registry.find_method(settings.protocol).graded else {}


def _aggregator(settings: Settings) -> Aggregator:
    """Build the aggregator that turns answers into scores: it applies priors, and puts each panel judge on its own
    scale.
    """
    method, panel, judges = registry.find_method(settings.protocol), settings.panel, len(settings.judges)
    aggregator = registry.load_object(method.aggregator)
    if method.graded:
        # Verdicts on criteria have no scale that differs by judge, so the aggregator combines a panel's judges itself.
        graded: Aggregator = aggregator(
            settings.grading, judges=judges, panel=panel.mode, quorum=settings.quorum, weights=panel.weights
        )
        return graded
    within: Aggregator = aggregator() if isinstance(aggregator, type) else aggregator
    if within is two_way and (noise := _priors(settings, "noise")):
        within = TwoWay(noise)
    places, swaps = _priors(settings, "places"), _priors(settings, "swaps")
    if places or swaps:
        within = BiasCorrected(within, places, swaps, bounds=(0.0, 1.0) if places else None)
    if judges == 1:
        return within
    if panel.mode == "fallback":
        return FallbackScores(within)
    learned = None if settings.experience is None else settings.experience.weights
    weights = panel.weights or learned or (1 / judges,) * judges
    return Panel(tuple(weights), within, settings.quorum, panel.error_correlation)


def _reward(settings: Settings) -> RewardTransform:
    plan = settings.reward
    usual = registry.load_object(registry.find_method(settings.protocol).reward)
    kind = registry.REWARDS.find(plan.kind) if plan.kind else usual
    arguments: dict[str, Any] = _grading(settings) if kind is usual else {}
    if kind is Shrunk:
        arguments = {"inner": usual(plan.range, **_grading(settings))}
    transform: RewardTransform = kind(plan.range, **arguments)
    return transform
