"""Chooses the strategies that the settings name: protocol, planner, aggregator and reward transform.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from calipers import registry
from calipers.aggregators.pair_bias import BiasCorrected
from calipers.aggregators.panel import Fallback as FallbackScores
from calipers.aggregators.panel import Panel
from calipers.aggregators.priors import JudgePriors
from calipers.aggregators.resolution import StoppingRule
from calipers.aggregators.two_way import TwoWay, two_way
from calipers.config.grouped_options import Observer, Records
from calipers.config.settings import Settings
from calipers.guard.canary import CanaryAmong, CanaryFirst
from calipers.interfaces import Aggregator, JudgingProtocol, Planner, RewardTransform, Watcher
from calipers.judging.instances import JudgeInstances
from calipers.judging.loop import Strategies
from calipers.planners.first_asks import Chunks, FirstAsks
from calipers.planners.follow_ups import FollowUps
from calipers.planners.panel import Cycle, Everyone, Fallback
from calipers.planners.resolving import Resolving, Swapping
from calipers.protocols.question import Parse
from calipers.rewards.reliable import Shrunk

if TYPE_CHECKING:
    from calipers.judging.task_criteria import CriteriaWriter

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


def observers_of(records: Records) -> tuple[tuple[Observer, ...], tuple[Watcher, ...]]:
    """Return what sees every answer of a judge, and what sees every finished group, from the ``watchers``."""
    seen = [one for one in records.watchers if hasattr(one, "seen")]
    observers: list[Any] = []
    for one in records.watchers:
        if (observe := getattr(one, "observe", None)) is not None:
            observers.append(observe)
        elif not hasattr(one, "seen"):
            observers.append(one)
    if records.debug:
        from calipers.judging.describe import print_answer  # noqa: PLC0415 - few judges print

        observers.append(print_answer)
    return tuple(observers), tuple(seen)


def criteria_writer(judges: JudgeInstances, settings: Settings) -> CriteriaWriter | None:
    """Return what has criteria written for each prompt before its answers are judged; None if nobody writes any."""
    if settings.criteria.mode == "off":
        return None
    from calipers.judging.task_criteria import CriteriaWriter  # noqa: PLC0415 - few judges have criteria written

    return CriteriaWriter(judges, settings)


def _protocol(settings: Settings, parse: Parse | None) -> JudgingProtocol:
    method = registry.find_method(settings.protocol)
    own: dict[str, Any] = {"rubric": settings.rubric, "parse": parse}
    path = method.protocol
    if method.graded:
        own = {"grading": settings.grading}
    elif settings.question.expected:
        path = method.expected
    calls = settings.calls
    made: JudgingProtocol = registry.load_object(path)(max_tokens=calls.max_tokens, params=calls.params or {}, **own)
    if share := settings.defence.share:
        made = (CanaryAmong if settings.protocol == "listwise" else CanaryFirst)(made, share, settings.seed)
    return made


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
    priors = _priors(settings)
    if settings.protocol == "pairwise":
        return Swapping(inner, {slot: prior.swaps for slot, prior in priors.items() if prior.swaps is not None})
    spreads = [prior.spread for prior in priors.values() if prior.spread is not None]
    spread = sum(spreads) / len(spreads) if spreads else _USUAL_SPREAD
    rule = StoppingRule(spread, resolve.tolerance, resolve.most)
    return Resolving(inner, first, rule)


def _first_asks(settings: Settings) -> FirstAsks:
    orders, judges, priors = settings.orders, len(settings.judges), _priors(settings)
    has_noise = len(priors) == judges and all(prior.noise is not None for prior in priors.values())
    if settings.resolve is not None and settings.protocol != "pairwise" and not has_noise:
        # Resolving needs standard errors, which take at least two calls if no judge's noise is known.
        orders = orders if judges > 1 and settings.panel.mode == "all" else max(orders, 2)
    first: FirstAsks
    if settings.question.at_once is not None:
        first = Chunks(orders, settings.samples, settings.question.at_once)
    else:
        method = registry.find_method(settings.protocol)
        graded = {"grading": settings.grading} if method.graded else {}
        first = registry.load_object(method.planner)(orders, settings.samples, **graded)
    return first if judges == 1 else _PANELS[settings.panel.mode](first, judges)


def _priors(settings: Settings) -> dict[int, JudgePriors]:
    return {} if settings.experience is None else dict(enumerate(settings.experience.judges))


def _aggregator(settings: Settings) -> Aggregator:
    """Build the aggregator that turns answers into scores: it applies priors, and puts each panel judge on its own
    scale.
    """
    method, panel, judges = registry.find_method(settings.protocol), settings.panel, len(settings.judges)
    found = registry.load_object(method.aggregator)
    if method.graded:
        # Verdicts on criteria have no scale that differs by judge, so the aggregator combines a panel's judges itself.
        own = {"judges": judges, "panel": panel.mode, "quorum": settings.quorum, "weights": panel.weights}
        graded: Aggregator = found(settings.grading, **own)
        return graded
    within: Aggregator = found() if isinstance(found, type) else found
    priors = _priors(settings)
    noise = {slot: prior.noise for slot, prior in priors.items() if prior.noise is not None}
    if within is two_way and noise:
        within = TwoWay(noise)
    places = {slot: prior.places for slot, prior in priors.items() if prior.places is not None}
    swaps = {slot: prior.swaps for slot, prior in priors.items() if prior.swaps is not None}
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
    method = registry.find_method(settings.protocol)
    usual = registry.load_object(method.reward)
    kind = registry.REWARDS.find(plan.kind) if plan.kind else usual
    own: dict[str, Any] = {"grading": settings.grading} if method.graded and kind is usual else {}
    if kind is Shrunk:
        graded = {"grading": settings.grading} if method.graded else {}
        own = {"inner": usual(plan.range, **graded)}
    made: RewardTransform = kind(plan.range, **own)
    return made
