"""What runs say: figures of an arm, differences of paired seeds, and whether the study is valid."""

from __future__ import annotations

from typing import Any

import pytest

from calipers.study.intervals import estimate, paired_difference
from calipers.study.training.measures import FIGURES
from calipers.study.training.summary import Trained, run_curves, run_figures, smallest_effect, summarise, validity
from training_studies import study

STEP = dict.fromkeys(
    (*FIGURES, "length_spread", "truth_spread", "reward_spread", "missing", "entropy", "unscored"), 0.0
) | {"weight": 1.0}


def run(seed: int, lengths: list[float], truths: list[float]) -> Trained:
    """A run with these lengths of its steps, and these truths of its evaluations."""
    steps = [
        {**STEP, "step": n, "length": one, "length_pull": one / 10, "truth_pull": 0.0, "calls": 4 * (n + 1)}
        for n, one in enumerate(lengths)
    ]
    evaluations = [
        {**STEP, "step": n, "truth": one, "kl": 0.1 * n, "groups": n, "calls": n} for n, one in enumerate(truths)
    ]
    return Trained(seed, steps, evaluations)


def test_figures_of_a_run_are_means_over_its_last_and_first_steps():
    found = run_figures(run(0, [9, 7, 5, 3], [0.5, 0.6, 0.8]), window=2)
    wanted = {
        "length": 4.0,
        "first_length_pull": 0.8,
        "first_weight": 1.0,
        "held_out_truth": 0.8,
        "held_out_truth_gain": 0.3,
        "held_out_truth_area": 1.9 / 3,
        "held_out_kl": 0.2,
        "calls": 16,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_differences_are_of_the_seeds_that_both_arms_have():
    made = study({"name": "a"}, {"name": "b", "against": "a"}, seeds=4)
    runs = {
        "a": [run(seed, [9.0, 9 + seed], [0.5, 0.5]) for seed in (0, 1, 3)],
        "b": [run(seed, [9.0, 5 + 2 * seed], [0.5, 0.5]) for seed in (1, 2, 3)],
    }
    one, other = summarise(made.arms, runs, window=1)
    assert (one.seeds, one.pairs, one.differences) == ((0, 1, 3), (), {})
    assert one.figures["length"] == estimate([9, 10, 12])
    assert (other.seeds, other.pairs) == ((1, 2, 3), (1, 3))
    assert other.differences["length"] == paired_difference([7, 11], [10, 12])


def test_an_arm_without_finished_runs_has_no_figures():
    made = study({"name": "a"}, {"name": "b", "against": "a"})
    one, other = summarise(made.arms, {"a": [], "b": [run(0, [1, 2], [0.1, 0.2])]}, window=1)
    assert (one.figures, other.pairs, other.differences) == ({}, (), {})


def test_curves_have_a_row_for_each_seed():
    rows: dict[int, list[dict[str, Any]]] = {
        0: [{"step": 0, "truth": 1 / 3}, {"step": 5, "truth": True}],
        2: [{"step": 0, "truth": 0}, {"step": 5, "truth": 0}],
    }
    nothing = [None, None]
    found = run_curves(rows, 3, ["truth"], [0, 5])
    assert found == {"step": [0, 5], "truth": [[0.333333, 1.0], nothing, [0.0, 0.0]]}
    assert run_curves({}, 3, ["truth"], [0, 5]) == {"step": [0, 5], "truth": [nothing] * 3}


CONTROLLED = study(
    {"name": "true", "judge": "true", "control": "true"}, {"name": "placebo", "control": "placebo"}, {"name": "c"}
)


def checked(true: list[float], placebo: list[float], spreads: list[float]):
    """The validity of a study in which held-out truth gains so much in each run of its controls."""
    runs = {
        "true": [run(seed, [1, 1], [0.5, 0.5 + gain]) for seed, gain in enumerate(true)],
        "placebo": [run(seed, [1, 1], [0.5, 0.5 + gain]) for seed, gain in enumerate(placebo)],
        "c": [],
    }
    return validity(CONTROLLED.arms, summarise(CONTROLLED.arms, runs, window=1), spreads)


@pytest.mark.parametrize(
    ("true", "placebo", "spreads", "passed"),
    [
        ([0.2, 0.25, 0.3], [0.01, -0.02, 0.0], [0.5, 0.7], True),
        ([0.2, 0.25, 0.3], [-0.2, -0.25, -0.3], [0.5, 0.7], True),
        ([0.2, 0.25, 0.3], [0.01, -0.02, 0.0], [0.9, 0.8], False),
        ([0.2, 0.25, 0.3], [0.01, -0.02, 0.0], [0.1, 0.1], False),
        ([0.2, -0.25, 0.3], [0.01, -0.02, 0.0], [0.5, 0.7], False),
        ([0.2, 0.25, 0.3], [0.2, 0.25, 0.3], [0.5, 0.7], False),
        ([0.2], [0.0], [0.5, 0.7], None),
        ([0.2, 0.25, 0.3], [0.01, 0.01], [0.5, 0.7], None),
        ([0.2, 0.25, 0.3], [0.01, 0.01, 0.01], [0.5, 0.7], None),
        ([0.2, 0.25, 0.3], [0.0, 0.0], [0.5, 0.7], True),
        ([0.2, 0.25, 0.3], [-0.01, -0.01], [0.5, 0.7], True),
        ([0.1, 0.1], [0.01, -0.02, 0.0], [0.5, 0.7], None),
        ([0.0, 0.0], [0.01, -0.02, 0.0], [0.5, 0.7], False),
        ([0.1, 0.1], [0.2, 0.25, 0.3], [0.5, 0.7], False),
    ],
)
def test_a_study_is_valid_if_true_rewards_teach_the_truth_and_placebos_do_not(
    true: Any, placebo: Any, spreads: Any, passed: Any
):
    assert checked(true, placebo, spreads).passed is passed


def test_what_was_checked_is_said():
    found = checked([0.2, 0.25, 0.3], [0.2, 0.25, 0.3], [0.9]).checks
    assert found == (
        (False, "90% of the first groups have truth spread"),
        (True, "true: held-out truth +0.250 ± 0.124, which rises"),
        (False, "placebo: held-out truth +0.250 ± 0.124, which rises"),
    )


def test_gains_that_are_all_the_same_have_no_interval_and_are_unknown():
    found = checked([0.2, 0.25, 0.3], [0.01, 0.01], [0.5]).checks
    assert found[2] == (
        None,
        "placebo: held-out truth +0.010 in each of 2 runs, whose chance is unknown: run more seeds",
    )


def test_a_study_without_controls_is_not_checked_wholly():
    made = study({"name": "a"})
    runs = {"a": [run(seed, [1, 1], [0.5, 0.6]) for seed in range(2)]}
    found = validity(made.arms, summarise(made.arms, runs, window=1), [0.5])
    assert found.passed is None
    assert [said for passed, said in found.checks if passed is None] == [
        "no arm is a control with true rewards",
        "no arm is a placebo",
    ]


def test_the_smallest_effect_is_that_of_the_t_test():
    # 10 pairs: (t_0.975(9) + t_0.8(9)) / sqrt(10) = (2.2622 + 0.8834) / 3.1623
    assert smallest_effect(10) == pytest.approx(0.99475, abs=1e-4)
    assert smallest_effect(1) is None
    assert estimate([0.0, 1.0, 2.0]).detectable == pytest.approx(smallest_effect(3))
