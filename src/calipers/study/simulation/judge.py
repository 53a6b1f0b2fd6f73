"""A judge as a model of scores: what it adds to the quality of a response."""

from __future__ import annotations

import numpy as np

from calipers.study.simulation.arrays import Array
from calipers.study.simulation.draws import Draws
from calipers.study.simulation.policy import Policy, Responses
from calipers.study.simulation.settings import JudgeSettings


def scores(settings: JudgeSettings, policy: Policy, responses: Responses, draws: Draws) -> Array:
    """Return the judge's scores of a step's responses, (S, B, G)."""
    doublings = np.log2((responses.length + 1) / (policy.mean_length + 1))
    found = responses.quality + settings.length * doublings
    found = found + settings.format * responses.optional[0] + settings.flattery * responses.optional[1]
    found = found + settings.confidence * responses.confidence
    return np.asarray(found + settings.noise * draws.normal("noise", *found.shape[1:]))
