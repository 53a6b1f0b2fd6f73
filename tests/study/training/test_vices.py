"""The study's own vices and controls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calipers import Judge
from calipers.study.training.vices import (
    Curve,
    Inverted,
    Random,
    Shuffled,
    Undecided,
    Unread,
    ends,
    first_place,
    last_place,
)
from calipers.testing import Noise, SimulatedJudge
from calipers.types import Trajectory, TrajectoryGroup


def group(number: int, *texts: str) -> TrajectoryGroup:
    rows = tuple(Trajectory(str(n), ({"role": "assistant", "content": text},)) for n, text in enumerate(texts, 1))
    return TrajectoryGroup(f"g{number}", rows, context=({"role": "user", "content": f"Task {number}"},))


QUALITY = {"1": 0.1, "2": 0.4, "3": 0.6, "4": 0.9}


async def rewards(*vices: Any, number: int = 0, texts: tuple[str, ...] = ("a", "b", "c", "d"), **options: Any):
    judge = Judge(SimulatedJudge(QUALITY, *vices), **options)
    return (await judge.score_group(group(number, *texts))).rewards


async def test_an_inverted_judge_thinks_the_opposite():
    assert await rewards(Inverted()) == [0.9, 0.6, 0.4, 0.1]


async def test_a_shuffled_judge_gives_the_same_numbers_without_information():
    found = np.array([await rewards(Shuffled(), number=number) for number in range(200)])
    assert (np.sort(found, axis=1) == sorted(QUALITY.values())).all()
    assert np.abs(found.mean(axis=0) - 0.5).max() < 0.07
    drawn = np.array([await rewards(Random(0.3, 0.5), number=number) for number in range(100)])
    assert (drawn.min() >= 0.3, drawn.max() <= 0.5, abs(drawn.mean() - 0.4) < 0.02) == (True, True, True)


async def test_an_undecided_judge_thinks_the_same_of_all_candidates_of_a_share_of_the_groups_however_it_is_asked():
    found = [await rewards(Undecided(0.3), number=number) for number in range(200)]
    undecided = [number for number, one in enumerate(found) if one == [0.5] * 4]
    assert len(undecided) / 200 == pytest.approx(0.3, abs=0.07)
    assert all(found[number] == list(QUALITY.values()) for number in {*range(200)} - {*undecided})
    for number in range(20):
        assert await rewards(Undecided(0.3), number=number, orders=4) == found[number]
    noisy = await rewards(Undecided(1.0), Noise(0.1))
    assert len(set(noisy)) == 4


async def test_unread_candidates_stay_unread_however_often_they_are_asked_about():
    lost = np.array([[one is None for one in await rewards(Unread(0.3), number=number)] for number in range(300)])
    assert lost.mean() == pytest.approx(0.3, abs=0.05)
    assert np.abs(lost.mean(axis=0) - 0.3).max() < 0.1
    assert await rewards(Unread(0.3), number=5) == await rewards(Unread(0.3), number=5)
    assert await rewards(Unread(1.0)) == [None] * 4


async def test_unread_may_be_linked_to_length():
    texts = ("a", "b" * 2, "c" * 30, "d" * 300)
    lost = np.array(
        [
            [one is None for one in await rewards(Unread(0.1, per_doubling=1.0), number=number, texts=texts)]
            for number in range(300)
        ]
    )
    assert lost[:, 0].mean() < 0.02
    assert lost[:, 3].mean() > 0.3


def test_curves_of_position_bias():
    places = [0, 0.25, 0.5, 0.75, 1]
    assert [first_place(place) for place in places] == [1, 0, 0, 0, 0]
    assert [last_place(place) for place in places] == [0, 0, 0, 0, 1]
    assert [ends(place) for place in places] == [0.5, 0, -0.5, 0, 0.5]
    assert [Curve((1.0, 0.0, 4.0))(place) for place in places] == [1, 0.5, 0, 2, 4]
    assert Curve((3.0,))(0.7) == 3
