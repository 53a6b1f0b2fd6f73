"""Warnings of rewards that a trainer's division undoes: where it does, and nowhere else."""

import pytest

from calipers.config.grouped_options import Reward
from calipers.trainers.trl.caller import Caller
from calipers.trainers.verl.settings import undone_rewards


def _notes(*, scale: str, functions: int = 1, sums_normalised: bool = False) -> list[str]:
    caller = Caller(scale=scale, reward_functions=functions, sums_normalised=sums_normalised)
    return caller.warnings(None, kind="shrunk", weighs=False)


def test_trl_undoes_shrunk_rewards_where_it_divides_them_alone_by_their_groups_deviation() -> None:
    assert len(_notes(scale="group")) == 1
    assert not _notes(scale="group", functions=2)
    assert not _notes(scale="none", functions=2)
    for scale in ("group", "batch", "none"):
        (note,) = _notes(scale=scale, functions=2, sums_normalised=True)
        assert "sum_then_normalize" in note


@pytest.mark.parametrize(
    ("reward", "estimator", "divides", "said"),
    [
        (Reward(kind="shrunk"), "grpo", True, "norm_adv_by_std_in_grpo=false"),
        (Reward(kind="shrunk"), "grpo", False, None),
        (Reward(kind="shrunk"), "rloo", True, None),
        (Reward(kind="rank"), "grpo", True, None),
    ],
)
def test_what_verl_undoes(*, reward: Reward, estimator: str, divides: bool, said: str | None) -> None:
    note = undone_rewards(reward, estimator=estimator, divides=divides)
    assert (said is None) == (note is None)
    assert said is None or said in str(note)
