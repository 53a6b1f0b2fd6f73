"""Warnings of rewards that a trainer's division or a blend undoes: where it does, and nowhere else."""

import pytest

import calipers
from calipers.config.score_options import Reward
from calipers.rewards.blend import Blend, undone_by_blend
from calipers.testing import Noise, SimulatedJudge
from calipers.trainers.trl.caller import Caller
from calipers.trainers.verl.settings import undone_rewards

OWN = {"a": 0.0, "b": 0.0, "c": 1.0, "d": 1.0}


def _notes(*, scale: str, functions: int = 1, sums_normalised: bool = False, blend: Blend | None = None) -> list[str]:
    caller = Caller(scale=scale, reward_functions=functions, sums_normalised=sums_normalised)
    return caller.warnings(None, kind="shrunk", blend=blend, weighs=False)


def test_trl_undoes_shrunk_rewards_where_it_divides_them_alone_by_their_groups_deviation() -> None:
    assert len(_notes(scale="group")) == 1
    assert not _notes(scale="group", functions=2)
    assert not _notes(scale="none", functions=2)
    for scale in ("group", "batch", "none"):
        (note,) = _notes(scale=scale, functions=2, sums_normalised=True)
        assert "sum_then_normalize" in note


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_blends_that_undo_them_are_named_whatever_the_trainer_divides_by(scale: str) -> None:
    for blend in ("normalised", "lexicographic"):
        (note,) = _notes(scale=scale, blend=blend)
        assert f"beside blend={blend!r}" in note
    assert not _notes(scale=scale, blend="sum")
    assert not _notes(scale=scale, blend="weighted")


@pytest.mark.parametrize(
    ("reward", "estimator", "divides", "said"),
    [
        (Reward(kind="shrunk"), "grpo", True, "norm_adv_by_std_in_grpo=false"),
        (Reward(kind="shrunk"), "grpo", False, None),
        (Reward(kind="shrunk"), "rloo", True, None),
        (Reward(kind="rank"), "grpo", True, None),
        (Reward(kind="shrunk", blend="sum"), "grpo", True, None),
        (Reward(kind="shrunk", blend="lexicographic"), "rloo", False, "beside blend='lexicographic'"),
        (Reward(kind="min_max", blend="normalised"), "grpo", False, "beside blend='normalised'"),
    ],
)
def test_what_verl_undoes(*, reward: Reward, estimator: str, divides: bool, said: str | None) -> None:
    note = undone_rewards(reward, estimator=estimator, divides=divides)
    assert (said is None) == (note is None)
    assert said is None or said in str(note)


@pytest.mark.parametrize("kind", ["shrunk", "weighted", "min_max", "rank"])
@pytest.mark.parametrize("blend", ["normalised", "lexicographic", "sum", "weighted"])
async def test_a_result_says_that_a_blend_undid_its_rewards_if_and_only_if_it_did(kind: str, blend: Blend) -> None:
    answers = SimulatedJudge({"a": 0.2, "b": 0.5, "c": 0.4, "d": 0.8}, Noise(0.1), seed=1)
    group = {
        "trajectories": [
            {"id": name, "reward": own, "messages": [{"role": "assistant", "content": name}]}
            for name, own in OWN.items()
        ]
    }
    plain = await calipers.Judge(answers, orders=3, reward={"blend": blend}).score_group(group)
    result = await calipers.Judge(answers, orders=3, reward={"kind": kind, "blend": blend}).score_group(group)
    assert 0 < (result.reliability.value or 0) < 1
    same = result.rewards == pytest.approx(plain.rewards, abs=1e-6)
    note = undone_by_blend(kind, blend)
    assert same == (note is not None)
    assert [one for one in result.warnings if "beside blend=" in one] == ([note] if note else [])


def test_a_blend_undoes_nothing_that_is_not_set() -> None:
    assert undone_by_blend(None, "normalised") is None
    assert undone_by_blend("shrunk", None) is None
    assert "but for groups whose reliability is 0" in str(undone_by_blend("weighted", "normalised"))
    assert "but for" not in str(undone_by_blend("min_max", "lexicographic"))
