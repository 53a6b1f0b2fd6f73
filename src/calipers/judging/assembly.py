"""Settings to strategies: which planner and which aggregator a judge or a panel of them works with.

Pure. Not responsible for protocols and rewards, which are the same however many judges there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Final, get_args

from calipers import registry
from calipers.aggregators.bias_correction import BiasCorrected
from calipers.aggregators.panel import Fallback as FallbackScores
from calipers.aggregators.panel import Panel
from calipers.aggregators.priors import JudgePriors
from calipers.aggregators.resolution import StoppingRule, is_all_noise, tied, unscored
from calipers.aggregators.two_way import TwoWay, two_way
from calipers.config.settings import Pairing, PanelMode, Resolution, RewardPlan, Settings
from calipers.errors import ConfigError
from calipers.interfaces import Aggregator, Planner, RewardTransform
from calipers.judging.members import Seat
from calipers.planners.chunks import Chunks
from calipers.planners.first_asks import FirstAsks
from calipers.planners.follow_ups import FollowUps
from calipers.planners.pairs import Pivot
from calipers.planners.panel import Cycle, Everyone, Fallback
from calipers.planners.resolving import Resolving
from calipers.planners.swapping import Swapping
from calipers.planners.swiss import FirstRound, Swiss
from calipers.rewards.blend import Blend
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
    sharing = len(settings.judges) if settings.panel == "cycle" else 1
    inner: Planner = FollowUps(opening, settings.reasks, sharing)
    if settings.pairing == "swiss":
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
    if settings.at_once is not None:
        first = Chunks(orders, settings.samples, settings.at_once)
    elif settings.pairing != "all":
        pairing = Pivot if settings.pairing == "pivot" else FirstRound
        first = pairing(orders, settings.samples)
    else:
        method = registry.find_method(settings.protocol)
        graded = {"grading": settings.grading} if method.graded else {}
        first = registry.load(method.planner)(orders, settings.samples, **graded)
    return first if judges == 1 else _PANELS[settings.panel](first, judges)


def _has_errors(settings: Settings) -> bool:
    """Whether one presentation comes with standard errors: from other judges, or from what is known of the noise."""
    if len(settings.judges) > 1 and settings.panel == "all":
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
            settings.grading, judges=judges, panel=settings.panel, quorum=settings.quorum, weights=settings.weights
        )
        return graded
    within = _within(settings)
    if judges == 1:
        return within
    if settings.panel == "fallback":
        return FallbackScores(within)
    learned = None if settings.experience is None else settings.experience.weights
    weights = settings.weights or learned or (1 / judges,) * judges
    return Panel(weights, within, settings.quorum)


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


def require_resolution(resolve: object) -> Resolution | None:
    """``resolve`` as the constructor takes it: a bool, a tolerance, a mapping, or the thing itself. Raises ConfigError."""
    if resolve is None or resolve is False:
        return None
    try:
        made = (
            resolve
            if isinstance(resolve, Resolution)
            else Resolution()
            if resolve is True
            else Resolution(**resolve)
            if isinstance(resolve, Mapping)
            else Resolution(float(resolve))  # type: ignore[arg-type]  # what is no number is refused below
        )
    except (TypeError, ValueError):
        raise ConfigError(
            f"resolve={resolve!r}: it is True, a tolerance such as 0.015, or a mapping with tolerance, most, unresolved"
        ) from None
    if not (isinstance(made.tolerance, int | float) and 0 < made.tolerance < 1):
        raise ConfigError(f"resolve: tolerance={made.tolerance!r} is a gain in reliability, above 0 and below 1")
    if isinstance(made.most, bool) or not isinstance(made.most, int) or made.most < 1:
        raise ConfigError(f"resolve: most={made.most!r} counts presentations, from 1")
    if made.unresolved not in {"keep", "tie", "abstain"}:
        raise ConfigError(f"resolve: unresolved={made.unresolved!r} is one of keep, tie, abstain")
    return made


def reward(settings: Settings) -> RewardTransform:
    """Scores to rewards: the kind, then length among what is near, then ties."""
    plan = settings.reward
    method = registry.find_method(settings.protocol)
    kind = registry.REWARDS.find(plan.kind) if plan.kind else registry.load(method.reward)
    graded = {"grading": settings.grading} if method.graded and not plan.kind else {}
    made: RewardTransform = kind(settings.reward_range, **graded)
    if plan.length is not None:
        made = LengthControl(made, plan.length)
    return made if plan.ties is None else Ties(made, plan.ties)


def require_reward(reward: object, protocol: str) -> RewardPlan:
    """``reward`` as the constructor takes it: a kind, a mapping, the thing itself, or None. Raises ConfigError."""
    try:
        plan = (
            RewardPlan()
            if reward is None
            else reward
            if isinstance(reward, RewardPlan)
            else RewardPlan(**reward)
            if isinstance(reward, Mapping)
            else RewardPlan(reward)  # type: ignore[arg-type]  # what is no kind is refused below
        )
    except TypeError:
        names = ", ".join(field.name for field in fields(RewardPlan))
        raise ConfigError(
            f'reward={reward!r}: it is a kind such as "rank", or a mapping with some of {names}'
        ) from None
    if plan.kind is not None and plan.kind not in registry.REWARDS:
        raise ConfigError(f"reward: kind={plan.kind!r} is one of {', '.join(registry.REWARDS.names())}")
    usual = registry.load(registry.find_method(protocol).reward)
    if plan.kind in {"score", "win_rate"} and registry.REWARDS.find(plan.kind) is not usual:
        raise ConfigError(f"reward: kind={plan.kind!r} does not go with protocol={protocol!r}; rank goes with any")
    if plan.blend not in {None, *get_args(Blend)}:
        raise ConfigError(f"reward: blend={plan.blend!r} is one of {', '.join(get_args(Blend))}")
    _require_number("ties", plan.ties, low=0.0, high=float("inf"))
    _require_number("length", plan.length, low=0.0, high=1.0)
    _require_number("weight", plan.weight, low=0.0, high=1.0)
    return plan


def _require_number(name: str, value: object, *, low: float, high: float) -> None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high):
        return
    most = "" if high == float("inf") else f" to {high:g}"
    raise ConfigError(f"reward: {name}={value!r} is a number from {low:g}{most}")


def require_asking(protocol: str, *, pairing: str, at_once: int | None) -> None:
    """Raise ConfigError where the protocol has nothing to do with how candidates are to be put together."""
    if pairing not in get_args(Pairing):
        raise ConfigError(f"pairing={pairing!r}: it is one of {', '.join(get_args(Pairing))}")
    if pairing != "all" and protocol != "pairwise":
        raise ConfigError(f"pairing={pairing!r} is about pairs, and protocol={protocol!r} asks about none")
    if at_once is not None and protocol != "listwise":
        raise ConfigError(f"at_once={at_once} is about lists, and protocol={protocol!r} shows none")


_ASPECT = re.compile(r"[A-Za-z][A-Za-z _-]{0,39}")


def require_aspects(
    aspects: Mapping[str, float] | Sequence[str] | None, protocol: str
) -> tuple[tuple[str, float], ...] | None:
    """Aspects with their weights, equal ones where only names are given. Raises ConfigError."""
    if aspects is None:
        return None
    if protocol != "listwise":
        raise ConfigError(f"aspects= are scores of a list, and protocol={protocol!r} is asked otherwise")
    named = dict(aspects) if isinstance(aspects, Mapping) else dict.fromkeys(aspects, 1.0)
    if not named or (not isinstance(aspects, Mapping) and len(named) < len(aspects)):
        raise ConfigError(f"aspects={aspects!r}: name each once, and at least one")
    for name, weight in named.items():
        if not isinstance(name, str) or not _ASPECT.fullmatch(name):
            raise ConfigError(f"aspects: {name!r} is no name of letters, spaces and hyphens, 40 at most")
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < float("inf"):
            raise ConfigError(f"aspects: the weight of {name!r} is {weight!r}, and must be a number above 0")
    return tuple((name, float(weight)) for name, weight in named.items())


def require_expected(
    expected: object, protocol: str, seats: Iterable[Seat], *, told_otherwise: Iterable[object]
) -> bool:
    """``expected`` as the constructor takes it. Raises ConfigError where there can be no probabilities to read."""
    if not isinstance(expected, bool):
        raise ConfigError(f"expected={expected!r}: it is True or False")
    if not expected:
        return False
    if registry.find_method(protocol).expected is None:
        raise ConfigError(f"expected=True reads scores, and protocol={protocol!r} asks for none of its own")
    if any(one is not None for one in told_otherwise):
        raise ConfigError("expected=True reads one digit a candidate: leave aspects= and parse= out")
    for seat in seats:
        if not seat.bare.has_logprobs:
            raise ConfigError(
                f"expected=True needs a judge's probabilities, and {seat.name} has an API that tells none: leave it out, "
                "or take another judge"
            )
    return True


def require_panel(
    judges: int, *, panel: PanelMode | None, quorum: int, weights: Sequence[float] | None, presentations: int
) -> None:
    """Raise ConfigError for settings of a panel that cannot work with this many judges and first presentations."""
    if panel is not None and panel not in _PANELS:
        raise ConfigError(f"panel={panel!r}: it is one of {', '.join(sorted(_PANELS))}")
    if panel is not None and judges == 1:
        raise ConfigError(
            f'panel={panel!r} needs several judges, as in judge=["openai/gpt-5-mini", "vllm/qwen3"], or --judge for each'
        )
    most = 1 if panel == "fallback" else judges
    if isinstance(quorum, bool) or not isinstance(quorum, int) or not 1 <= quorum <= most:
        alone = ", for one judge speaks for a group" if panel == "fallback" else ""
        may_be = "and there is only one" if judges == 1 else f"from 1 to {most}{alone}"
        raise ConfigError(f"quorum={quorum!r}: it counts judges, {may_be}")
    if panel == "cycle" and quorum > presentations:
        raise ConfigError(
            f"quorum={quorum}: in a cycle each presentation goes to one judge, and there are {presentations}; raise orders="
        )
    if weights is None:
        return
    if judges == 1 or panel == "fallback":
        raise ConfigError("weights= are for panels in which several judges speak for a group")
    if len(weights) != judges or not all(one >= 0 for one in weights) or not 0 < sum(weights) < float("inf"):
        raise ConfigError(f"weights={list(weights)}: give one for each of the {judges} judges, 0 or more, not all 0")
