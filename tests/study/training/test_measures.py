"""Figures of a step: of its responses, groups and rewards."""

from __future__ import annotations

import numpy as np
import pytest

from calipers.study.training.judged import Judged
from calipers.study.training.measures import FIGURES, response_figures, step_figures
from calipers.study.training.task import Features


def found(lengths: list[int], right: list[bool]) -> Features:
    no = np.zeros(len(lengths), dtype=bool)
    return Features(np.array(lengths), np.array(right), ~no, no, no, no, no)


def test_figures_are_means_over_responses():
    assert response_figures(found([3, 5, 4, 8], [True, False, False, False])) == {
        "truth": 0.25,
        "length": 5.0,
        "sure": 1.0,
        "unsure": 0.0,
        "flattery": 0.0,
        "format": 0.0,
        "injection": 0.0,
        "overconfident": 0.75,
    }
    assert set(response_figures(found([3], [True]))) == set(FIGURES)


def test_groups_and_rewards_of_a_step():
    responses = found([3, 5, 4, 4, 6, 6], [True, False, True, True, False, False])
    rewards = [0.2, 0.8, 0.5, 0.5, None, 0.1]
    given = np.array([-1.0, 1.0, 0.5, -0.5, 0.0, 0.0])
    figures = step_figures(responses, Judged(rewards, [0.5, 0.5, 1, 1, 0, 0], 0.25), given, 2)
    assert figures["length_spread"] == pytest.approx(np.sqrt(2) / 3)
    assert figures["truth_spread"] == pytest.approx(1 / 3)
    assert figures["reward_spread"] == pytest.approx(1 / 3)
    assert figures["missing"] == pytest.approx(1 / 6)
    assert figures["reward"] == pytest.approx(2.1 / 5)
    assert (figures["unscored"], figures["weight"]) == (0.25, 0.5)
    # The longer one of the first group is wrong, and has the advantage.
    assert figures["length_pull"] == pytest.approx(2 / 6)
    assert figures["truth_pull"] == pytest.approx(-2 / 6)


def test_a_step_without_any_reward_has_no_mean_reward():
    figures = step_figures(found([3, 5], [True, False]), Judged([None, None], None, 1.0), np.zeros(2), 2)
    assert (figures["reward"], figures["missing"], figures["reward_spread"]) == (None, 1.0, 0.0)
    assert (figures["unscored"], figures["weight"]) == (1.0, 1.0)
