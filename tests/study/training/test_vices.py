"""The study's own vices and controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calipers import Judge
from calipers.study.profiles.named import PositionCurve
from calipers.study.training.vices import CURVES, Inverted, Random, Shuffled, Undecided, Unread
from calipers.testing import Noise, SimulatedJudge
from groups import group_of

QUALITY = {"1": 0.1, "2": 0.4, "3": 0.6, "4": 0.9}


async def rewards(*vices: Any, count: int = 1, texts: str | list[str] = "abcd", **options: Any) -> Any:
    """The rewards of a judge with these vices in so many groups, a row each."""
    judge = Judge(SimulatedJudge(QUALITY, *vices), **options)
    answers = dict(zip(QUALITY, texts, strict=True))
    groups = [group_of(answers, group_id=f"g{number}", question=f"Task {number}") for number in range(count)]
    return [(await judge.score_group(group)).rewards for group in groups]


async def test_an_inverted_judge_thinks_the_opposite():
    assert await rewards(Inverted()) == [[0.9, 0.6, 0.4, 0.1]]


async def test_a_shuffled_judge_gives_the_same_numbers_without_information_and_a_random_one_any():
    found = np.array(await rewards(Shuffled(), count=200))
    assert (np.sort(found, axis=1) == sorted(QUALITY.values())).all()
    assert np.abs(found.mean(axis=0) - 0.5).max() < 0.07
    drawn = np.array(await rewards(Random(0.3, 0.5), count=100))
    assert 0.3 <= drawn.min() < drawn.max() <= 0.5
    assert drawn.mean() == pytest.approx(0.4, abs=0.02)


async def test_an_undecided_judge_thinks_the_same_of_all_candidates_of_a_share_of_the_groups_however_it_is_asked():
    found = await rewards(Undecided(0.3), count=200)
    undecided = [one for one in found if one == [0.5] * 4]
    assert len(undecided) / 200 == pytest.approx(0.3, abs=0.07)
    assert [one for one in found if one not in ([0.5] * 4, list(QUALITY.values()))] == []
    assert await rewards(Undecided(0.3), count=20, orders=4) == found[:20]
    assert len(set((await rewards(Undecided(1.0), Noise(0.1)))[0])) == 4


def lost(found: Any) -> Any:
    return np.array([[reward is None for reward in row] for row in found])


async def test_unread_candidates_stay_unread_however_often_they_are_asked_about():
    found = await rewards(Unread(0.3), count=300)
    assert lost(found).mean() == pytest.approx(0.3, abs=0.05)
    assert np.abs(lost(found).mean(axis=0) - 0.3).max() < 0.1
    assert await rewards(Unread(0.3), count=10) == found[:10]
    assert await rewards(Unread(1.0)) == [[None] * 4]


async def test_unread_may_be_linked_to_length():
    texts = ["a", "b" * 2, "c" * 30, "d" * 300]
    found = lost(await rewards(Unread(0.1, per_doubling=1.0), count=300, texts=texts))
    assert found[:, 0].mean() < 0.02
    assert found[:, 3].mean() > 0.3


def test_curves_of_position_bias():
    places = [0, 0.25, 0.5, 0.75, 1]
    curves: dict[str, Callable[[float], float]] = {
        **CURVES,
        "own": PositionCurve((1.0, 0.0, 4.0)),
        "level": PositionCurve((3.0,)),
    }
    assert {name: [curve(place) for place in places] for name, curve in curves.items()} == {
        "first": [1, 0, 0, 0, 0],
        "last": [0, 0, 0, 0, 1],
        "ends": [0.5, 0, -0.5, 0, 0.5],
        "own": [1, 0.5, 0, 2, 4],
        "level": [3] * 5,
    }
