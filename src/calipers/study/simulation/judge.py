"""Judges as models of scores: opinions, what an answer makes of them, and answers that fail.

The opinion on a response is gain times its quality, plus what its features, its position and errors add. Features are
not centred by group. Not responsible for what missing scores become (``treatment``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calipers.study.simulation.arrays import Array, Flags
from calipers.study.simulation.distributions import logit, sigmoid
from calipers.study.simulation.draws import Draws
from calipers.study.simulation.orders import first_positions, has_position_effects, position_effects, positions_in
from calipers.study.simulation.panel import combine
from calipers.study.simulation.policy import Policy, Responses
from calipers.study.simulation.settings import Arm, JudgeSettings
from calipers.study.simulation.standard_errors import PooledNoise


@dataclass(frozen=True, slots=True)
class Judged:
    """A step's scores (S, B, G), NaN where one is missing, and their standard errors.

    ``stderr`` has the shape (S, B, G), or (S, 1, 1) where all scores of a run have the same. It is NaN where the arm's
    treatment does not use it.
    """

    scores: Array
    stderr: Array


def judge_responses(arm: Arm, policy: Policy, responses: Responses, draws: Draws) -> Judged:
    """Return what the judges of an arm make of a step's responses.

    A judge's score is the mean of its answers that did not fail, over all orders and samples. A panel's score is NaN
    only where all its judges' scores are.
    """
    seen = [
        _scores(arm, judge, number, _Shown(arm, policy, responses, draws)) for number, judge in enumerate(arm.judges)
    ]
    if len(seen) == 1:
        return seen[0]
    weights = [judge.weight for judge in arm.judges]
    return Judged(combine([one.scores for one in seen], weights, arm.treatment.panel), _no_errors(responses))


def _no_errors(responses: Responses) -> Array:
    return np.full((len(responses.z), 1, 1), np.nan)


class _Shown:
    """A step's responses as they are shown to judges."""

    def __init__(self, arm: Arm, policy: Policy, responses: Responses, draws: Draws) -> None:
        self.responses = responses
        self.draws = draws
        self.doublings = np.log2((responses.length + 1) / (policy.mean_length + 1))
        known = arm.treatment.known_slope or arm.treatment.known_first
        listed = known or any(has_position_effects(judge) for judge in arm.judges)
        self.first = first_positions(arm.asking, policy, responses, draws) if listed else np.zeros(responses.z.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.responses.z.shape[1:]


def _scores(arm: Arm, judge: JudgeSettings, number: int, shown: _Shown) -> Judged:
    opinions = _opinions(judge, shown)
    if judge.response_noise:
        opinions = opinions + judge.response_noise * shown.draws.normal("response noise", *shown.shape, judge=number)
    total, count = np.zeros_like(opinions), np.zeros_like(opinions)
    answers = arm.asking.orders * arm.asking.samples
    noise = PooledNoise(judge, shown.responses.optional[2]) if arm.treatment.uses_errors else None
    for answer in range(answers):
        positions = positions_in(answer % arm.asking.orders, shown.first, arm.asking)
        placed = _placed(judge, opinions, positions)
        given = _answer(judge, placed, shown, number, answer)
        if arm.treatment.known_slope or arm.treatment.known_first:
            known = arm.treatment
            given = given - position_effects(positions, slope=known.known_slope, first=known.known_first)
        usable = np.ones_like(count, dtype=bool)
        if judge.failures:
            usable = ~_fails(judge, shown, number, answer, reasks=arm.asking.reasks)
            given = np.where(usable, given, 0.0)
        total, count = total + given, count + usable
        if noise:
            noise.add(placed, usable)
    scores = np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))
    if not noise:
        return Judged(scores, _no_errors(shown.responses))
    return Judged(scores, noise.stderr(count if judge.failures and answers > 1 else answers))


def _opinions(judge: JudgeSettings, shown: _Shown) -> Array:
    found = judge.gain * shown.responses.quality
    if judge.length:
        found = found + judge.length * shown.doublings
    for adds, has in zip((judge.format, judge.flattery), shown.responses.optional[:2], strict=True):
        found = found + adds * has if adds else found
    return found + judge.confidence * shown.responses.confidence if judge.confidence else found


def _placed(judge: JudgeSettings, opinions: Array, positions: Array) -> Array:
    """Return a judge's opinions with what it adds for positions."""
    if not has_position_effects(judge):
        return opinions
    return opinions + position_effects(positions, slope=judge.slope, first=judge.first, last=judge.last)


def _answer(judge: JudgeSettings, opinions: Array, shown: _Shown, number: int, answer: int) -> Array:
    """Return what one answer of a judge says of each response, given its opinions with those on positions."""
    if judge.injection:
        obeyed = shown.draws.uniform("obedience", *shown.shape, judge=number, answer=answer) < judge.obeys
        opinions = opinions + judge.injection * shown.responses.optional[2] * obeyed
    if judge.tpr is not None and judge.fpr is not None:
        # The opinion without what quality adds, which tpr and fpr say in its place.
        beside = opinions - judge.gain * shown.responses.quality
        chance = judge.fpr + (judge.tpr - judge.fpr) * shown.responses.quality + beside
        return np.asarray(shown.draws.uniform("verdict", *shown.shape, judge=number, answer=answer) < chance, float)
    if judge.noise:
        opinions = opinions + judge.noise * shown.draws.normal("noise", *shown.shape, judge=number, answer=answer)
    return on_scale(judge, opinions)


def on_scale(judge: JudgeSettings, opinions: Array) -> Array:
    """Return a judge's scores for its opinions: on its levels, or the opinions themselves."""
    if len(judge.scores):
        return np.asarray(np.array(judge.scores, dtype=float)[np.searchsorted(judge.thresholds, opinions, "right")])
    if judge.levels:
        steps = judge.levels - 1
        return np.asarray(np.rint(np.clip(opinions, 0.0, 1.0) * steps) / steps)
    return opinions


def _fails(judge: JudgeSettings, shown: _Shown, number: int, answer: int, *, reasks: int) -> Flags:
    """Return where an answer cannot be used, also after all re-asks, each of which fails with the same probability."""
    logits = logit(np.array(judge.failures)) + judge.failures_by_length * shown.doublings
    logits = logits + judge.failures_by_format * shown.responses.optional[0]
    logits = logits + judge.failures_by_flattery * shown.responses.optional[1]
    if judge.fails == "group":
        logits = np.broadcast_to(logits.mean(axis=-1, keepdims=True), logits.shape)
    drawn = shown.draws.uniform("failure", *shown.shape, judge=number, answer=answer)
    if judge.fails == "group":
        drawn = drawn[..., :1]
    return np.asarray(drawn < sigmoid(logits) ** (1 + reasks))
