"""Folds keep the groups of a prompt together."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration.folds import FOLDS, folds, prompts
from calipers.calibration.series import Frame
from calipers.inputs import as_group

ANSWERS = [{"id": name, "messages": [{"role": "assistant", "content": name}]} for name in "ab"]


def numbers(*contexts: list[dict[str, Any]]) -> list[int]:
    every = [as_group({"group_id": f"g{n}", "context": one, "trajectories": ANSWERS}) for n, one in enumerate(contexts)]
    return [int(one) for one in prompts(Frame.of(every))]


def test_groups_with_the_same_question_are_of_one_prompt():
    asked, other = ([{"role": "user", "content": text}] for text in ("Who?", "When?"))
    assert numbers(asked, other, asked) == [0, 1, 0]


def test_instructions_that_all_tasks_share_are_no_prompt_and_nor_is_nothing():
    shared = [{"role": "system", "content": "You are an airline's agent."}]
    assert numbers(shared, shared, [], []) == [0, 1, 2, 3]


def test_a_question_inside_the_trajectories_counts():
    members = [
        {"id": name, "messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": name}]}
        for name in "ab"
    ]
    every = [as_group({"group_id": f"g{n}", "trajectories": members}) for n in range(2)]
    assert list(prompts(Frame.of(every))) == [0, 0]


@given(st.lists(st.integers(0, 30), min_size=10, max_size=200))
def test_no_prompt_is_in_two_folds_and_none_is_empty(sources: list[int]):
    found = folds(sources)
    if len(set(sources)) < FOLDS:
        assert found is None
        return
    assert found is not None
    assert set(found) == set(range(FOLDS))
    assert len({(source, int(fold)) for source, fold in zip(sources, found, strict=True)}) == len(set(sources))


def test_folds_are_of_about_one_size():
    found = folds([0] * 20 + list(range(1, 81)))
    assert found is not None
    assert np.bincount(found).tolist() == [20] * FOLDS


def test_few_groups_are_not_divided():
    assert folds(list(range(9))) is None
