"""Standard errors of simulated scores, held against the spread of repeated scores of the same responses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calipers.errors import ConfigError
from calipers.study.profiles.named import shipped_names
from calipers.study.simulation.configuration import simulation_from
from calipers.study.simulation.draws import Draws, Purpose
from calipers.study.simulation.judge import Judged, judge_responses
from calipers.study.simulation.policy import Policy
from calipers.study.simulation.runs import run_arm
from calipers.study.simulation.settings import Arm, GrpoSettings, TreatmentSettings
from simulated import first_judged

GROUPS = 1000
USES = ({"weights": "reliability"}, {"ties": 1.0}, {"length_control": 0.6})


def arm_of(judge: dict[str, Any], asking: dict[str, Any] | None = None, treatment: dict[str, Any] | None = None) -> Arm:
    tables = {"name": "a", "judge": judge, "asking": asking or {}, "treatment": treatment or USES[0]}
    return simulation_from({"arms": [tables], "grpo": {"groups": GROUPS}}, source="t").arms[0]


class Again(Draws):
    """Draws of a judge that is asked again about the same responses in the same order."""

    def __init__(self, number: int) -> None:
        super().__init__([1])
        self._fresh = Draws([100 + number])

    def _streams(self, purpose: Purpose, judge: int, answer: int) -> list[np.random.Generator]:
        if purpose in {"arrival", "response noise"}:
            return super()._streams(purpose, judge, answer)
        return self._fresh._streams(purpose, judge, answer)


def used_and_true(arm: Arm, *, repeats: int = 10) -> tuple[float, float]:
    """The error that treatments use, and the standard deviation of repeated scores of the same responses."""
    policy, draws = Policy(arm.policy), Draws([1])
    uniforms = draws.uniform("responses", policy.draws, GROUPS, arm.grpo.size)
    responses = policy.respond(np.zeros((1, 7)), draws.uniform("prompts", GROUPS), uniforms)
    found: list[Judged] = [judge_responses(arm, policy, responses, Again(number)) for number in range(repeats)]
    scores = np.stack([one.scores for one in found])
    known = ~np.isnan(scores)
    several = known.sum(axis=0) > 1
    mean = np.where(known, scores, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    squares = np.where(known & several, (scores - mean) ** 2, 0.0).sum()
    errors = np.stack([np.broadcast_to(one.stderr, one.scores.shape) for one in found])
    freedom = (known.sum(axis=0) - 1)[several].sum()
    return float(np.sqrt(np.mean(errors[known] ** 2))), float(np.sqrt(squares / freedom))


JUDGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"noise": 0.3}, {}),
    ({"noise": 0.3, "levels": 2}, {}),
    ({"noise": 0.3, "levels": 11}, {"samples": 3}),
    ({"noise": 0.01, "levels": 11, "response_noise": 0.3}, {}),
    ({"noise": 0.001, "levels": 1001, "length": 0.1}, {}),
    ({"noise": 0.3, "thresholds": [0.5], "scores": [0, 0.1]}, {}),
    ({"noise": 0.3, "thresholds": [0.2, 0.9], "scores": [-5, 10, 300], "slope": 0.8}, {"orders": 2}),
    ({"noise": 0.5, "failures": 0.6}, {"orders": 4}),
    ({"noise": 0.5, "failures": 0.4, "failures_by_length": 1.0, "levels": 5, "length": 0.2}, {"samples": 3}),
    ({"noise": 0.5, "failures": 0.4, "fails": "group"}, {"samples": 2}),
    ({"noise": 0.1, "injection": 1.0, "obeys": 0.5}, {}),
    ({"noise": 0.1, "injection": 1.0, "obeys": 0.3, "levels": 3}, {"samples": 2}),
    ({"noise": 0.1, "injection": 1.0, "levels": 3}, {}),
]


def profiled(name: str) -> Arm:
    """An arm whose judge has a shipped profile, with an agreement with the truth where its own is unknown."""
    try:
        return arm_of({"profile": name}, treatment={"reward": "rank"})
    except ConfigError:
        return arm_of({"profile": f"{name}?agreement=0.6"}, treatment={"reward": "rank"})


def test_the_error_of_a_shipped_profile_is_that_of_its_repeated_scores() -> None:
    noisy = [(name, arm) for name in shipped_names() if (arm := profiled(name)).judge.noise >= 1e-6]
    assert len(noisy) > 10
    for name, arm in noisy:
        used, true = used_and_true(replace(arm, treatment=TreatmentSettings(ties=1.0)), repeats=6)
        assert used == pytest.approx(true, rel=0.03), name


@pytest.mark.parametrize(("judge", "asking"), JUDGES)
def test_the_error_is_that_of_repeated_scores(judge: dict[str, Any], asking: dict[str, Any]) -> None:
    used, true = used_and_true(arm_of(judge, asking))
    assert used == pytest.approx(true, rel=0.03)


def test_the_error_of_numbers_is_the_noise_over_the_root_of_the_answers_to_the_bit() -> None:
    _, _, judged = first_judged(arm_of({"noise": 0.6}, {"orders": 2, "samples": 3}), runs=2)
    assert judged.stderr.ravel().tolist() == [0.6 / np.sqrt(6)] * 2
    _, _, unused = first_judged(arm_of({"noise": 0.6}, treatment={"reward": "rank"}))
    assert np.isnan(unused.stderr).all()


def test_a_runs_errors_do_not_depend_on_the_runs_beside_it() -> None:
    arm = replace(arm_of({"noise": 0.3, "levels": 5}), grpo=GrpoSettings(groups=8))
    together, alone = (run_arm(arm, seeds=seeds, steps=3).by_name["truth"] for seeds in (range(3), [2]))
    assert together[2].tobytes() == alone[0].tobytes()


@pytest.mark.parametrize("treatment", USES)
def test_the_unit_of_scores_changes_nothing_where_advantages_are_standardised(treatment: dict[str, Any]) -> None:
    truth = []
    for unit in (0.1, 1.0, 100.0):
        judge = {"noise": 0.3, "thresholds": [0.3, 0.7], "scores": [0.0, 0.5 * unit, unit]}
        arm = arm_of(judge, {"samples": 2}, treatment)
        arm = replace(arm, grpo=GrpoSettings(groups=16, epsilon=0.0))
        truth.append(run_arm(arm, seeds=range(4), steps=30).by_name["truth"])
    assert np.abs(truth[1] - truth[0]).max() < 1e-6
    assert np.abs(truth[2] - truth[0]).max() < 1e-6
