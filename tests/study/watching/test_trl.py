"""The callback in TRL's own trainer: steps, held-out prompts, KL, stop rules, and a run that goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("trl", reason="TRL is not installed (pip install 'calipers[trl]')")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::calipers")]

from calipers.errors import ConfigError  # noqa: E402 - TRL is there
from calipers.judging.judge import Judge  # noqa: E402
from calipers.study.curves import read_curves  # noqa: E402
from calipers.study.watching import StopRules, Watch  # noqa: E402
from calipers.testing import LengthBias, SimulatedJudge  # noqa: E402
from calipers.trainers.trl import reward_func  # noqa: E402
from calipers.types import Trajectory  # noqa: E402
from trl_runs import policy, train  # noqa: E402 - needs TRL


def quality(_: str, trajectory_id: str) -> float:
    return (int(trajectory_id) * 7 % 10) / 10


def is_right(rollout: Trajectory) -> bool:
    return "w7" in str(rollout.messages[-1]["content"])


def saved_policy(folder: Path) -> str:
    """The tiny policy as a folder: with KL, TRL loads the first policy from where it was."""
    policy().save_pretrained(folder / "policy")
    return str(folder / "policy")


def watched(folder: Path | None, steps: int, into: Path, **options: Any) -> tuple[Watch, Any]:
    """A run of GRPOTrainer with a watched judge, and the trainer."""
    given = {"audit": SimulatedJudge(quality), "truth": is_right, "every": 2, "sample": 2, **options}
    settings = given.pop("settings", {})
    watch = Watch(folder, **given)
    judge = Judge(SimulatedJudge(quality, LengthBias(0.1)), records={"watchers": [watch]})
    trainers: list[Any] = []

    def prepared(trainer: Any) -> None:
        trainer.add_callback(watch.callback())
        trainers.append(trainer)

    train(
        [reward_func(judge, num_generations=4, only_reward=True)],
        into,
        steps=steps,
        changed=prepared,
        made_with={"model": saved_policy(into.parent)},
        **{"beta": 0.01, "learning_rate": 1e-3, **settings},
    )
    return watch, trainers[0]


def test_a_run_of_trl_is_watched_from_its_first_step_to_its_last(tmp_path: Path) -> None:
    watch, _ = watched(tmp_path / "watched", 3, tmp_path / "o", settings={"eval_strategy": "steps", "eval_steps": 2})
    trained = [one for one in watch.groups if one.split == "train"]
    assert [one.step for one in trained] == [0] * 4 + [1] * 4 + [2] * 4
    assert [one.step for one in trained if one.audit is not None] == [0, 0, 2, 2]
    assert {one.step for one in trained if one.truth is not None} == {0, 2}
    held_out = [one for one in watch.groups if one.split == "held_out"]
    assert [one.step for one in held_out] == [2] * 4 + [3] * 4  # eval_dataset has four prompts
    assert [one.audit is not None for one in held_out].count(True) == 4
    assert [row["step"] for row in watch.log if "kl" in row] == [0, 1, 2]
    (arm,) = read_curves(str(tmp_path / "watched")).arms
    assert arm.at == (0, 1, 2, 3)
    assert {"reward", "kl", "length", "audit_gap", "audit_fidelity", "truth", "held_out_truth"} <= arm.runs.keys()
    means = [sum(one.reward or 0 for one in trained if one.step == step) / 4 for step in range(3)]
    assert arm.runs["reward"][0] == pytest.approx((*means, None))


def test_a_broken_rule_ends_the_run_and_saves_it_only_if_asked(tmp_path: Path) -> None:
    rules = StopRules(kl=0.0)
    for stop, steps in ((False, 4), (True, 3)):
        watch, trainer = watched(
            tmp_path / f"watched {stop}", 4, tmp_path / f"o {stop}", rules=rules, stop=stop,
            settings={"save_strategy": "steps", "save_steps": 100},
        )  # fmt: skip
        assert trainer.state.global_step == steps  # step 1 is the first with KL above 0, and TRL logs it after its end
        assert [one.rule for one in watch.broken] == ["kl"]
        assert (tmp_path / f"o {stop}" / "checkpoint-3").exists() is stop


def test_a_run_goes_on_from_a_checkpoint_and_a_new_run_needs_a_new_folder(tmp_path: Path) -> None:
    saved = {"save_strategy": "steps", "save_steps": 2}
    first, _ = watched(tmp_path / "watched", 3, tmp_path / "o", settings=saved)
    with pytest.raises(ConfigError, match="another run was watched there"):
        watched(tmp_path / "watched", 3, tmp_path / "o2")
    watch = Watch(tmp_path / "watched", audit=SimulatedJudge(quality), truth=is_right, every=2, sample=2)
    assert watch.folder is not None
    watch.begin(2)  # as the callback does with the step of a checkpoint
    assert watch.groups == [one for one in first.groups if one.step < 2]


def test_an_evaluation_before_training_is_no_part_of_the_run(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "watched", truth=is_right)
    judge = Judge(SimulatedJudge(quality), records={"watchers": [watch]})
    train(
        [reward_func(judge, num_generations=4, only_reward=True)],
        tmp_path / "o",
        changed=lambda trainer: [trainer.add_callback(watch.callback()), trainer.evaluate()],
    )
    assert {(one.split, one.step) for one in watch.groups} == {("train", 0)}
    assert len(watch.groups) == 4


def test_rewards_of_trl_are_those_without_a_watch(tmp_path: Path) -> None:
    def rewards(watchers: list[Any], callbacks: list[Any]) -> dict[str, list[float]]:
        judge = Judge(SimulatedJudge(quality, LengthBias(0.1)), records={"watchers": watchers})
        return train(
            [reward_func(judge, num_generations=4, only_reward=True)],
            tmp_path / str(len(watchers)),
            steps=2,
            changed=lambda trainer: [trainer.add_callback(one) for one in callbacks],
        ).rewards

    watch = Watch(audit=SimulatedJudge(quality), truth=is_right, every=1)
    assert rewards([watch], [watch.callback()]) == rewards([], [])
    assert watch.groups
