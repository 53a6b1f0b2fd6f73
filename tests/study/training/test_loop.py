"""A run of the loop: the same to the digit, whatever interrupts it, and learning what is rewarded."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; .ci/run has a step with it")

from calipers.study.training.judges import judge_for, truth_for  # noqa: E402 - PyTorch is there
from calipers.study.training.loop import Loop, step_prompts  # noqa: E402
from calipers.study.training.pretraining import pretrain  # noqa: E402
from calipers.study.training.rewarding import Rewarder, Tally  # noqa: E402
from calipers.study.training.run_folder import EVALUATIONS, STEPS, RunFolder  # noqa: E402
from calipers.study.training.settings import Pretraining  # noqa: E402
from training_studies import study  # noqa: E402

STUDY = study({"order": "arrival", "jitter": 1.0, "training": {"learning_rate": 1e-2}}, steps=5)
ARM = STUDY.arms[0]


def start(seed: int = 0):
    return pretrain(STUDY.policy, Pretraining(steps=40, batch=32), seed)


def loop(folder: RunFolder, made: Any = STUDY, seed: int = 0) -> Loop:
    arm = made.arms[0]
    truth, tally = truth_for(arm.judge), Tally()
    rewarder = Rewarder(judge_for(arm, seed, truth, tally), arm, truth, tally, seed)
    folder.begin({})
    return Loop(made, arm, seed, start(seed), rewarder, folder)


def rows(folder: RunFolder):
    return folder.rows(STEPS), folder.rows(EVALUATIONS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory):
    folder = RunFolder(tmp_path_factory.mktemp("whole"))
    loop(folder).run()
    return rows(folder)


def test_a_run_is_the_same_to_the_digit(whole: Any, tmp_path: Path):
    folder = RunFolder(tmp_path)
    loop(folder).run()
    assert rows(folder) == whole
    other = RunFolder(tmp_path / "other")
    loop(other, seed=1).run()
    assert rows(other) != whole


def test_a_run_has_a_row_for_each_step_and_evaluations_before_steps_and_at_the_end(whole: Any):
    steps, evaluations = whole
    assert [row["step"] for row in steps] == [0, 1, 2, 3, 4]
    assert [row["step"] for row in evaluations] == [0, 2, 4, 5]
    assert [row["groups"] for row in steps] == [3, 6, 9, 12, 15]
    assert [row["calls"] for row in evaluations] == [0, 6, 12, 15]
    assert evaluations[0]["kl"] == 0
    assert all(row["kl"] > 0 for row in evaluations[1:])


class Interrupted(Exception):  # noqa: N818 - as if by a person
    pass


@pytest.mark.parametrize("after", [1, 2, 4])
def test_an_interrupted_run_goes_on_as_if_it_had_not_been(whole: Any, tmp_path: Path, after: Any):
    folder = RunFolder(tmp_path)

    def interrupt(done: int) -> None:
        if done == after:
            raise Interrupted

    with pytest.raises(Interrupted):
        loop(folder).run(after_step=interrupt)
    resumed: list[int] = []
    loop(folder).run(after_step=resumed.append)
    assert resumed == list(range(after + 1, 6))
    assert rows(folder) == whole


class FullDisk(RunFolder):
    """A disk with room for the state of two steps."""

    __slots__ = ()

    def save_state(self, state: Any):
        if state["step"] == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().save_state(state)


def test_a_full_disk_costs_the_step_in_progress(whole: Any, tmp_path: Path):
    with pytest.raises(OSError, match="No space left"):
        loop(FullDisk(tmp_path)).run()
    folder = RunFolder(tmp_path)
    resumed: list[int] = []
    loop(folder).run(after_step=resumed.append)
    assert resumed == [3, 4, 5]
    assert rows(folder) == whole


def test_without_checkpoints_a_run_starts_again(tmp_path: Path):
    folder = RunFolder(tmp_path)
    made = study({"order": "arrival"}, steps=2, checkpoints=False)
    loop(folder, made).run()
    first = rows(folder)
    assert folder.load_state() is None
    loop(folder, made).run()
    assert rows(folder) == first


def test_arms_of_a_seed_have_the_same_prompts_and_the_same_first_rollouts(whole: Any, tmp_path: Path):
    made = study({"judge": "true"}, steps=1)
    folder = RunFolder(tmp_path)
    loop(folder, made).run()
    same = ("truth", "length", "sure", "truth_spread", "entropy")
    assert [folder.rows(STEPS)[0][name] for name in same] == [whole[0][0][name] for name in same]
    assert (step_prompts(made.arms[0], 0, 3) == step_prompts(ARM, 0, 3)).all()
    assert (step_prompts(ARM, 1, 3) != step_prompts(ARM, 0, 3)).any()
    assert (step_prompts(ARM, 0, 4) != step_prompts(ARM, 0, 3)).any()


def test_the_policy_learns_what_is_rewarded(tmp_path: Path):
    short = {"vices": [{"kind": "Constant"}, {"kind": "LengthBias", "per_doubling": -0.3}]}
    made = study(
        {"judge": "short"},
        judges={"short": short},
        steps=25,
        training={"prompts": 8, "group_size": 8, "learning_rate": 3e-3},
        evaluation={"prompts": 100, "every": 100},
    )
    folder = RunFolder(tmp_path)
    loop(folder, made).run()
    before, after = folder.rows(EVALUATIONS)
    assert after["length"] < before["length"] - 1
    assert folder.rows(STEPS)[0]["length_pull"] < -0.5
