"""What groups with all gold equal show: preferences for length, markdown and positions."""

import random
from typing import Any

import pytest

from calipers.calibration import calibrate
from calipers.calibration.equal_gold import EqualGold


def groups(count: int, gold: float | None) -> list[dict[str, Any]]:
    """Groups whose answers differ in length, all with the same gold."""
    generator = random.Random("lengths")
    return [
        {
            "group_id": f"g{number}",
            "trajectories": [
                {
                    "id": name,
                    "messages": [{"role": "assistant", "content": "x" * generator.randint(1, 400)}],
                    "gold": gold,
                }
                for name in "abcd"
            ],
        }
        for number in range(count)
    ]


def figures(every: list[dict[str, Any]], *, longer: float, later: float) -> EqualGold | None:
    """A judge that adds ``longer`` for each character and ``later`` for each position, in two orders."""
    generator = random.Random("judge")
    said = []
    for one in every:
        lengths = {member["id"]: len(member["messages"][0]["content"]) for member in one["trajectories"]}
        for sample in range(2):
            order = generator.sample(list(lengths), 4)
            scores = {
                name: longer * lengths[name] + later * place + generator.gauss(0, 1) for place, name in enumerate(order)
            }
            said.append(
                {"group_id": one["group_id"], "judge": "j", "mode": "listwise", "order": order, "sample_index": sample,
                 "parsed": {"scores": scores}}
            )  # fmt: skip
    return calibrate(every, said).judges[0].equal_gold


def test_a_judge_that_likes_length_shows_it_and_no_liking_for_positions():
    found = figures(groups(60, 1.0), longer=0.02, later=0.0)
    assert found is not None
    assert found.groups == 60
    assert found.length is not None
    assert found.length.correlation > 0.7
    assert found.position is not None
    assert found.position.interval is not None
    low, high = found.position.interval
    assert low < 0 < high
    assert found.markdown is None  # no answer has any


def test_a_judge_that_likes_later_answers_shows_it_call_by_call():
    found = figures(groups(60, 0.5), longer=0.0, later=2.0)
    assert found is not None
    assert found.position is not None
    assert found.position.correlation > 0.7
    assert found.length is not None
    assert found.length.correlation == pytest.approx(0, abs=0.2)


def test_groups_without_gold_are_no_groups_with_equal_gold():
    assert figures(groups(20, None), longer=0.02, later=0.0) is None
