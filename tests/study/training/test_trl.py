"""TRL's GRPOTrainer and the loop do the same with the same rollouts, and a run of TRL's goes on after a crash."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; .ci/run has a step with it")
pytest.importorskip("trl", reason="TRL is not installed; .ci/run has a step with it")

from trl import GRPOConfig  # noqa: E402 - TRL is there

from calipers.errors import ConfigError  # noqa: E402
from calipers.study.training.judges import judge_for, truth_for  # noqa: E402
from calipers.study.training.loop import Loop  # noqa: E402
from calipers.study.training.pretraining import pretrain  # noqa: E402
from calipers.study.training.rewarding import Rewarder, Tally  # noqa: E402
from calipers.study.training.run_folder import EVALUATIONS, STEPS, RunFolder  # noqa: E402
from calipers.study.training.settings import Pretraining  # noqa: E402
from calipers.study.training.trl_run import OWN_ARGUMENTS, TrlRun  # noqa: E402
from training_studies import study  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")

UNREAD = [{"kind": "Noise", "sd": 0.125}, {"kind": "PositionBias", "strength": 0.125}, {"kind": "Unread", "rate": 0.2}]


def made(engine: str, training: dict[str, Any] | None = None, row: dict[str, Any] | None = None, **content: Any):
    own = {"prompts": 4, "group_size": 4, "learning_rate": 3e-3, **(training or {})}
    judges = {"own": {"vices": UNREAD}}
    row = {"judge": "own", "order": "arrival", "jitter": 1.0, "engine": engine, "training": own, **(row or {})}
    return study(row, judges=judges, steps=4, **{"shared_noise": engine == "trl", **content})


def run(folder: RunFolder, content: Any, seed: int, after_step: Any = lambda _: None):
    arm = content.arms[0]
    truth, tally = truth_for(arm.judge), Tally()
    rewarder = Rewarder(judge_for(arm, seed, truth, tally), arm, truth, tally, seed)
    folder.begin({})
    start = pretrain(content.policy, Pretraining(steps=40, batch=32), seed)
    kind = TrlRun if arm.engine == "trl" else Loop
    kind(content, arm, seed, start, rewarder, folder).run(after_step)
    return folder.rows(STEPS), folder.rows(EVALUATIONS)


@pytest.mark.parametrize(
    ("seed", "training"),
    [
        (0, {}),
        (1, {}),
        (0, {"loss": "dapo", "scale": "batch", "kl": 0.1}),
        (1, {"loss": "grpo", "scale": "none", "updates": 2, "clip": 0.05}),
        (0, {"optimizer": "sgd", "learning_rate": 0.3}),
    ],
)
def test_both_engines_have_the_same_advantages_losses_gradients_and_policies(tmp_path: Path, seed: int, training: Any):
    steps, evaluations = same_in_both(tmp_path, seed, training)
    assert 0 < sum(row["missing"] for row in steps) < 4
    assert evaluations[-1]["kl"] > 0.01


def test_weights_reach_the_advantages_of_both_engines(tmp_path: Path):
    steps, _ = same_in_both(tmp_path, 0, {}, {"weights": "reliability", "options": {"orders": 2}})
    assert 0 < min(row["weight"] for row in steps) < 0.9
    unweighted, _ = run(RunFolder(tmp_path / "plain"), made("trl", {}, {"options": {"orders": 2}}), 0)
    assert unweighted[0]["reward"] == steps[0]["reward"]
    assert unweighted[0]["norm"] != pytest.approx(steps[0]["norm"], rel=1e-2)


def same_in_both(tmp_path: Path, seed: int, training: Any, row: Any = None) -> Any:
    """The rows of the loop's run, after comparing them with those of TRL's run."""
    (steps, evaluations), (theirs, their_evaluations) = (
        run(RunFolder(tmp_path / engine), made(engine, training, row), seed) for engine in ("loop", "trl")
    )
    assert len(steps) == len(theirs) == 4
    for mine, other in zip(steps, theirs, strict=True):
        assert mine.keys() == other.keys()
        # The advantages' means with length and truth, the rollouts and the rewards are equal; the rest is rounded.
        rounded = {"loss", "norm", "entropy"}
        assert {k: v for k, v in mine.items() if k not in rounded} == {
            k: v for k, v in other.items() if k not in rounded
        }
        assert {k: mine[k] for k in rounded} == pytest.approx({k: other[k] for k in rounded}, rel=1e-4, abs=1e-6)
    for mine, other in zip(evaluations, their_evaluations, strict=True):
        assert mine == pytest.approx(other, rel=1e-4, abs=1e-5)
    return steps, evaluations


class Interrupted(Exception):  # noqa: N818 - as if by a person
    pass


def test_a_run_of_trls_own_rollouts_goes_on_where_it_stopped(tmp_path: Path):
    content = made("trl", {"updates": 2}, shared_noise=False)
    whole = run(RunFolder(tmp_path / "whole"), content, 3)
    assert [row["step"] for row in whole[0]] == [0, 1, 2, 3]
    assert [row["step"] for row in whole[1]] == [0, 2, 4]

    def interrupt(done: int) -> None:
        if done == 3:
            raise Interrupted

    folder = RunFolder(tmp_path / "other")
    with pytest.raises(Interrupted):
        run(folder, content, 3, interrupt)
    half = folder.path / "checkpoints" / "checkpoint-99"  # as a crash within a checkpoint leaves it
    half.mkdir()
    (half / "trainer_state.json").write_text("{")
    resumed: list[int] = []
    assert run(folder, content, 3, resumed.append) == whole
    assert resumed == [3, 4]


def test_arguments_of_trl_may_be_given_but_not_those_that_follow_from_the_study():
    assert {one.name for one in fields(GRPOConfig)} >= OWN_ARGUMENTS
    assert made("trl", trl={"report_to": [], "top_k": 5}).trl == {"report_to": [], "top_k": 5}
    with pytest.raises(ConfigError) as error:
        made("trl", trl={"reprot_to": [], "learning_rate": 1})
    assert "[trl]: TRL's GRPOConfig has no 'reprot_to'. Did you mean report_to?" in str(error.value)
    assert "[trl]: learning_rate follows from other settings of the study" in str(error.value)
