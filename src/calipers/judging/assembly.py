"""Settings to strategies: which planner and which aggregator a judge or a panel of them works with.

Pure. Not responsible for protocols and rewards, which are the same however many judges there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from calipers import registry
from calipers.aggregators.bias_correction import BiasCorrected
from calipers.aggregators.panel import Fallback as FallbackScores
from calipers.aggregators.panel import Panel
from calipers.aggregators.priors import JudgePriors
from calipers.aggregators.resolution import StoppingRule, is_all_noise, tied, unscored
from calipers.aggregators.two_way import TwoWay, two_way
from calipers.config.options import Resolution
from calipers.config.settings import Settings
from calipers.interfaces import Aggregator, Planner, RewardTransform
from calipers.planners.chunks import Chunks
from calipers.planners.first_asks import FirstAsks
from calipers.planners.follow_ups import FollowUps
from calipers.planners.pairs import Pivot
from calipers.planners.panel import Cycle, Everyone, Fallback
from calipers.planners.resolving import Resolving
from calipers.planners.swapping import Swapping
from calipers.planners.swiss import FirstRound, Swiss
from calipers.rewards.length import LengthControl
from calipers.rewards.ties import Ties
from calipers.types import Scores

_PANELS: Final[Mapping[str, type[Everyone | Cycle | Fallback]]] = {
    "all": Everyone,
    "cycle": Cycle,
    "fallback": Fallback,
}

_USUAL_SPREAD = 0.03
"""The variance of settled scores within a group that is supposed of a judge nothing is known about; a weak belief."""


def planner(settings: Settings) -> Planner:
    """What to ask: the protocol's first asks, of which judge, what poor answers make necessary, then what is unsettled."""
    opening = _opening(settings)
    sharing = len(settings.judges) if settings.panel.mode == "cycle" else 1
    inner: Planner = FollowUps(opening, settings.question.reasks, sharing)
    if settings.question.pairing == "swiss":
        inner = Swiss(inner, settings.orders)
    resolve = settings.resolve
    if resolve is None:
        return inner
    habits = _priors(settings)
    if settings.protocol == "pairwise":
        return Swapping(inner, {slot: one.swaps for slot, one in habits.items() if one.swaps is not None})
    spreads = [one.spread for one in habits.values() if one.spread is not None]
    spread = sum(spreads) / len(spreads) if spreads else _USUAL_SPREAD
    return Resolving(inner, opening, StoppingRule(spread, resolve.tolerance, resolve.most))


def _opening(settings: Settings) -> FirstAsks:
    orders, judges = settings.orders, len(settings.judges)
    if settings.resolve is not None and settings.protocol != "pairwise" and not _has_errors(settings):
        # Without any standard error nothing can be called settled, and two calls are the fewest that give one.
        orders = max(orders, 2)
    first: FirstAsks
    if settings.question.at_once is not None:
        first = Chunks(orders, settings.samples, settings.question.at_once)
    elif settings.question.pairing != "all":
        pairing = Pivot if settings.question.pairing == "pivot" else FirstRound
        first = pairing(orders, settings.samples)
    else:
        method = registry.find_method(settings.protocol)
        graded = {"grading": settings.grading} if method.graded else {}
        first = registry.load(method.planner)(orders, settings.samples, **graded)
    return first if judges == 1 else _PANELS[settings.panel.mode](first, judges)


def _has_errors(settings: Settings) -> bool:
    """Whether one presentation comes with standard errors: from other judges, or from what is known of the noise."""
    if len(settings.judges) > 1 and settings.panel.mode == "all":
        return True
    habits = _priors(settings)
    return len(habits) == len(settings.judges) and all(one.noise is not None for one in habits.values())


def _priors(settings: Settings) -> dict[int, JudgePriors]:
    return {} if settings.experience is None else dict(enumerate(settings.experience.judges))


def aggregator(settings: Settings) -> Aggregator:
    """What answers come to: read with what is known of each judge, a panel's each on its own scale."""
    method = registry.find_method(settings.protocol)
    judges = len(settings.judges)
    if method.graded:
        # Verdicts have no scale of the judge's own, so the aggregator combines a panel's judges itself.
        graded: Aggregator = registry.load(method.aggregator)(
            settings.grading,
            judges=judges,
            panel=settings.panel.mode,
            quorum=settings.quorum,
            weights=settings.panel.weights,
        )
        return graded
    within = _within(settings)
    if judges == 1:
        return within
    if settings.panel.mode == "fallback":
        return FallbackScores(within)
    learned = None if settings.experience is None else settings.experience.weights
    weights = settings.panel.weights or learned or (1 / judges,) * judges
    return Panel(tuple(weights), within, settings.quorum)


def _within(settings: Settings) -> Aggregator:
    found = registry.load(registry.find_method(settings.protocol).aggregator)
    within: Aggregator = found() if isinstance(found, type) else found
    habits = _priors(settings)
    noise = {slot: one.noise for slot, one in habits.items() if one.noise is not None}
    if within is two_way and noise:
        within = TwoWay(noise)
    places = {slot: one.places for slot, one in habits.items() if one.places is not None}
    swaps = {slot: one.swaps for slot, one in habits.items() if one.swaps is not None}
    if not places and not swaps:
        return within
    return BiasCorrected(within, places, swaps, bounds=(0.0, 1.0) if places else None)


def settle(scores: Scores, resolve: Resolution | None) -> tuple[Scores, tuple[str, ...]]:
    """The scores a group is paid by, and a warning where its spread was all noise and ``resolve`` says what then."""
    if resolve is None or resolve.unresolved == "keep" or not is_all_noise(scores):
        return scores, ()
    if resolve.unresolved == "tie":
        return tied(scores), ("the scores differ no more than their standard errors: they were tied",)
    return unscored(scores), ("the scores differ no more than their standard errors: nobody was scored",)


def reward(settings: Settings) -> RewardTransform:
    """Scores to rewards: the kind, then length among what is near, then ties."""
    plan = settings.reward
    method = registry.find_method(settings.protocol)
    kind = registry.REWARDS.find(plan.kind) if plan.kind else registry.load(method.reward)
    graded = {"grading": settings.grading} if method.graded and not plan.kind else {}
    made: RewardTransform = kind(settings.reward.range, **graded)
    if plan.length is not None:
        made = LengthControl(made, plan.length)
    return made if plan.ties is None else Ties(made, plan.ties)
