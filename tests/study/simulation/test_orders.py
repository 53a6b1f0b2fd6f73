"""Positions in lists: permutations, calipers' own further orders, and arrival by length."""

from __future__ import annotations

import numpy as np
import pytest

from calipers.aggregators.position_bias import PositionBias
from calipers.planners.first_asks import rotated_order
from calipers.study.simulation.draws import Draws
from calipers.study.simulation.orders import first_positions, position_effects, positions_in
from calipers.study.simulation.settings import Arm, AskingSettings, GrpoSettings, PolicySettings
from simulated import first_batch


def positions(asking: AskingSettings, *, groups: int = 400, size: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """The positions of a batch in the first order, and the lengths."""
    arm = Arm("a", grpo=GrpoSettings(groups=groups, size=size))
    policy, responses, _ = first_batch(arm)
    return first_positions(asking, policy, responses, Draws([0])), responses.length


@pytest.mark.parametrize("asking", [AskingSettings(), AskingSettings(order="arrival", arrival=0.6)])
def test_every_position_is_taken_once(asking: AskingSettings) -> None:
    found, _ = positions(asking)
    assert (np.sort(found, axis=-1) == np.arange(8)).all()


@pytest.mark.parametrize("size", [2, 3, 8])
def test_further_orders_are_those_of_the_planner(size: int) -> None:
    permutation = np.random.default_rng(size).permutation(size)
    first = np.argsort(permutation).astype(float)[None, None]
    for order in range(2 * size):
        shown = rotated_order(permutation.tolist(), order)
        found = positions_in(order, first, AskingSettings(orders=2 * size))[0, 0]
        assert [int(found[item]) for item in shown] == list(range(size))


def test_rotations_over_all_orders_put_every_response_everywhere_once() -> None:
    asking = AskingSettings(orders=6, turning="rotated")
    first = np.random.default_rng(1).permutation(6).astype(float)[None, None]
    seen = np.stack([positions_in(order, first, asking)[0, 0] for order in range(6)])
    assert (np.sort(seen, axis=0) == np.arange(6)[:, None]).all()


def test_arrival_has_the_correlation_with_length_that_was_asked_for() -> None:
    for wanted in (0.3, 0.7, 1.0):
        found, lengths = positions(AskingSettings(order="arrival", arrival=wanted), groups=4000)
        ranks = (lengths[..., :, None] > lengths[..., None, :]).sum(axis=-1)
        centred = found - found.mean(axis=-1, keepdims=True), ranks - ranks.mean(axis=-1, keepdims=True)
        seen = (centred[0] * centred[1]).sum() / np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum())
        # Ranks of normal variables correlate a little less than the variables, and ties are drawn.
        assert wanted - 0.12 < seen <= min(wanted + 0.03, 1.0)
    shorter = lengths[..., :, None] < lengths[..., None, :]
    assert (found[..., :, None] < found[..., None, :])[shorter].all()  # the last correlation was 1


def test_responses_of_equal_length_arrive_in_random_order() -> None:
    arm = Arm("a", policy=PolicySettings(length_floor=5, length_cap=6, length_mean=5.5), grpo=GrpoSettings(groups=4000))
    policy, responses, _ = first_batch(arm)
    found = first_positions(AskingSettings(order="arrival"), policy, responses, Draws([0]))
    short = responses.length == 5.0
    first_is_earlier = (found[..., 0] < found[..., 1])[short[..., 0] & short[..., 1]]
    assert abs(first_is_earlier.mean() - 0.5) < 4.5 * 0.5 / np.sqrt(first_is_earlier.size)


@pytest.mark.parametrize("size", [2, 5, 8])
def test_effects_are_those_of_the_model_that_corrects_them(size: int) -> None:
    found = position_effects(np.arange(size, dtype=float)[None, None], slope=0.3, first=-0.2)[0, 0]
    assert found.tolist() == pytest.approx(PositionBias(0.3, -0.2, groups=20).curve(size))
    ends = position_effects(np.arange(size, dtype=float), slope=0.0, first=0.4, last=0.4)
    assert ends.sum() == pytest.approx(0.0)
    assert ends[0] == pytest.approx(ends[-1])
