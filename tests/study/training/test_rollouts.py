"""A step's advantages ignore what has no reward, and its figures are those of its rollouts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from calipers.study.training.rollouts import advantages, grouped_prompts, response_figures, step_figures
from calipers.study.training.task import draw_responses, features


def test_advantages_are_centred_and_divided_as_trl_divides_them():
    spread = math.sqrt(14 / 3)
    assert advantages([1.0, 2.0, 3.0, 6.0], 4, "group") == pytest.approx([v / (spread + 1e-4) for v in (-2, -1, 0, 3)])
    assert advantages([1.0, 2.0, 3.0, 6.0], 4, "none").tolist() == [-2, -1, 0, 3]
    shared = np.std([0.0, 1.0, 5.0, 5.0], ddof=1) + 1e-4
    assert advantages([0.0, 1.0, 5.0, 5.0], 2, "batch") == pytest.approx([-0.5 / shared, 0.5 / shared, 0, 0])
    weighted = advantages([1.0, 3.0, 1.0, 3.0], 2, "none", [0.5, 0.5, 0.0, 0.0])
    assert weighted.tolist() == [-0.5, 0.5, 0, 0]


def test_a_missing_reward_moves_nothing_and_is_in_no_mean():
    scales: tuple[Any, ...] = ("group", "batch", "none")
    for scale in scales:
        found = advantages([1.0, None, 3.0, None], 4, scale).tolist()
        pair = advantages([1.0, 3.0], 2, scale).tolist()
        assert found == [pair[0], 0, pair[1], 0]
        assert advantages([None, 0.7, None, None, None, None], 3, scale).tolist() == [0] * 6
        assert advantages([0.1] * 7, 7, scale).tolist() == [0] * 7  # no rounding of the mean is left


def test_figures_of_a_step_say_where_it_pushes():
    prompts = grouped_prompts(200, 4, 1)
    found = features(prompts, draw_responses(prompts, np.random.default_rng(2)))
    rewards: list[float | None] = [float(one) for one in found.right]
    rewards[0] = None
    figures = step_figures(found, rewards, advantages(rewards, 4, "group"), 4)
    assert figures == figures | response_figures(found)
    assert figures["truth"] == pytest.approx(found.right.mean())
    assert figures["missing"] == pytest.approx(1 / 800)
    assert figures["reward"] == pytest.approx(found.right[1:].mean())
    assert figures["truth_spread"] == pytest.approx(figures["reward_spread"] or 0, abs=0.006)
    assert 0.3 < (figures["truth_pull"] or 0) < 0.9
    assert abs(figures["length_pull"] or 0) < 0.15
