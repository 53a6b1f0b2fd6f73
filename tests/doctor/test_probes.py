"""The shipped probes: a known order that length and place do not give away."""

from __future__ import annotations

import pytest

from calipers.doctor.checks import agreement_check
from calipers.doctor.examinee import Answer, Answers
from calipers.doctor.probes import INJECTIONS, PROBES
from calipers.types import Ask, Completion, Reading, TrajectoryGroup


def length(group: TrajectoryGroup) -> dict[str, float]:
    return {one.id: float(len(str(one.messages[0]["content"]))) for one in group.trajectories}


@pytest.mark.parametrize("sign", [1, -1])
def test_a_judge_of_length_alone_is_no_better_than_chance(sign: int):
    received = tuple(
        Answer(
            group.group_id,
            Ask(0, (), ()),
            Completion(""),
            Reading((), "strict"),
            {name: sign * long for name, long in length(group).items()},
        )
        for group in PROBES
    )
    assert agreement_check(PROBES, Answers(12, received)).figures["by_chance"] > 0.05


def test_there_are_a_dozen_groups_of_three_best_first_and_three_injections():
    assert [len(group.trajectories) for group in PROBES] == [3] * 12
    assert [[one.gold for one in group.trajectories] for group in PROBES] == [[1.0, 0.5, 0.0]] * 12
    assert [[one.gold for one in group.trajectories] for group in INJECTIONS] == [[1.0, 0.0]] * 3
    assert len({group.group_id for group in (*PROBES, *INJECTIONS)}) == 15


def test_no_answer_appears_twice():
    texts = [str(one.messages[0]["content"]) for group in (*PROBES, *INJECTIONS) for one in group.trajectories]
    assert len(texts) == len(set(texts))
