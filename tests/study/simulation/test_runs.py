"""Whole runs: the same to the digit with the same seed, and in the direction that the judge rewards."""

from __future__ import annotations

import numpy as np
import pytest

from calipers.errors import ConfigError
from calipers.study.simulation.runs import run_arm
from calipers.study.simulation.settings import Arm, GrpoSettings, JudgeSettings

SMALL = GrpoSettings(groups=16, size=6)


def test_a_run_is_the_same_to_the_digit_whichever_runs_are_beside_it() -> None:
    arm = Arm(
        "a", judge=JudgeSettings(noise=0.3, length=0.1), grpo=GrpoSettings(groups=16, size=6, kl=0.1, iterations=2)
    )
    many = run_arm(arm, seeds=range(20), steps=12)
    for seeds in ([3], [17, 3], [3, 4, 5]):
        few = run_arm(arm, seeds=seeds, steps=12)
        for name, rows in few.by_name.items():
            assert rows[seeds.index(3)].tobytes() == many.by_name[name][3].tobytes(), name


def test_a_policy_that_leaves_what_numbers_can_hold_is_an_error_and_never_a_result() -> None:
    grpo = GrpoSettings(groups=16, size=6, kl=1e6, iterations=3, learning_rate=1e6, divergence="plain")
    with pytest.raises(ConfigError, match=r"arm 'wild': in step \d+ its policy left .* lower learning_rate, or kl"):
        run_arm(Arm("wild", judge=JudgeSettings(noise=0.3), grpo=grpo), seeds=range(3), steps=20)


def test_different_seeds_are_different_runs() -> None:
    found = run_arm(Arm("a", judge=JudgeSettings(noise=0.3), grpo=SMALL), seeds=range(3), steps=3).by_name["truth"]
    assert len(np.unique(found[:, -1])) == 3


def test_the_first_point_is_the_first_policy_and_the_last_is_after_the_last_step() -> None:
    curves = run_arm(Arm("a", grpo=SMALL), seeds=range(2), steps=7, every=3)
    assert curves.steps == (0, 3, 6, 7)
    assert np.allclose(curves.by_name["truth"][:, 0], (0.9 + 0.5 + 0.2) / 3)
    assert np.isnan(curves.by_name["reward"][:, -1]).all()
    assert not np.isnan(curves.by_name["reward"][:, :-1]).any()


def test_a_policy_gets_what_its_judge_rewards() -> None:
    judge = JudgeSettings(format=0.5, flattery=-0.5, length=0.2, confidence=0.5)
    found = run_arm(Arm("a", judge=judge, grpo=SMALL), seeds=range(4), steps=60).by_name
    for name, sign in {"truth": 1, "format": 1, "flattery": -1, "length": 1, "confidence": 1}.items():
        assert (sign * (found[name][:, -1] - found[name][:, 0]) > 0.1).all(), name


def test_a_penalty_on_divergence_keeps_the_policy_near_the_first_one() -> None:
    judge = JudgeSettings(length=0.3)
    free, held = (
        run_arm(Arm("a", judge=judge, grpo=GrpoSettings(groups=16, size=6, kl=kl)), seeds=range(4), steps=60).by_name[
            "kl"
        ]
        for kl in (0.0, 0.5)
    )
    assert (held[:, -1] < free[:, -1] / 2).all()


def test_without_a_difference_in_rewards_nothing_is_learned() -> None:
    judge = JudgeSettings()
    arm = Arm("a", judge=judge, grpo=SMALL)
    curves = run_arm(arm, seeds=range(2), steps=30)
    assert (curves.by_name["truth"][:, -1] > curves.by_name["truth"][:, 0]).all()
    assert np.abs(curves.by_name["format"][:, -1] - 0.3).max() < 0.2


def test_progress_counts_every_step_of_every_run() -> None:
    made: list[int] = []
    run_arm(Arm("a", grpo=SMALL), seeds=range(20), steps=3, done=made.append)
    assert sum(made) == 60
