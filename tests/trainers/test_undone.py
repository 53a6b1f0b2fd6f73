"""Warnings of rewards that a blend undoes: where it does, and nowhere else."""

import pytest

import calipers
from calipers.rewards.blend import Blend, undone_by_blend
from calipers.testing import Noise, SimulatedJudge

OWN = {"a": 0.0, "b": 0.0, "c": 1.0, "d": 1.0}


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
