"""The positions at which a judge sees the responses of a group, and what positions add to its opinions.

Calipers draws the order from the group's content, which is random with regard to the policy. A system that collects
rollouts as they finish, and shows them so, has another order: the shorter a response, the earlier it arrives.
"""

from __future__ import annotations

import math

import numpy as np

from calipers.study.simulation.arrays import Array
from calipers.study.simulation.draws import Draws
from calipers.study.simulation.policy import Policy, Responses
from calipers.study.simulation.settings import AskingSettings, JudgeSettings


def first_positions(settings: AskingSettings, policy: Policy, responses: Responses, draws: Draws) -> Array:
    """Return the positions (S, B, G) of a step's responses in the first order, from 0.

    Arrival times are lengths plus normal jitter, whose standard deviation gives the correlation that was asked for
    under the first policy.
    """
    shape = responses.length.shape[1:]
    if settings.order == "content":
        times = draws.uniform("arrival", *shape)
    else:
        jitter = policy.sd_length * math.sqrt(settings.arrival**-2 - 1)
        # Equal lengths without jitter arrive in random order.
        times = responses.length + max(jitter, 1e-6) * draws.normal("arrival", *shape)
    return np.asarray((times[..., :, None] > times[..., None, :]).sum(axis=-1), dtype=float)


def positions_in(order: int, first: Array, settings: AskingSettings) -> Array:
    """Return the positions in order number ``order``, given those in order 0.

    With "reversed", it is calipers' (``planners.first_asks.rotated_order``): rotations in turn, each followed by its
    reverse. With "rotated", rotations are spread evenly over the group.
    """
    size = first.shape[-1]
    if settings.turning == "rotated":
        return np.asarray((first - order * size // settings.orders) % size)
    turned = (first - (order // 2)) % size
    return np.asarray(size - 1 - turned if order % 2 else turned)


def position_effects(positions: Array, *, slope: float, first: float, last: float = 0.0) -> Array:
    """Return what ``positions`` add to a judge's opinions; the mean over a group is 0.

    It is ``aggregators.position_bias``'s model with an extra for the last position beside that for the first.
    """
    size = positions.shape[-1]
    found = slope * (positions / (size - 1) - 0.5)
    if first:
        found = found + first * ((positions == 0) - 1 / size)
    if last:
        found = found + last * ((positions == size - 1) - 1 / size)
    return np.asarray(found)


def has_position_effects(judge: JudgeSettings) -> bool:
    """Whether the order of a list changes a judge's opinions."""
    return bool(judge.slope or judge.first or judge.last)
