"""Rollouts arrive in an order that may depend on length, and only a judge made for it is shown that order."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calipers import Judge
from calipers.study.training.arrival import ArrivalJudge, arrival_places
from calipers.testing import SimulatedJudge
from calipers.types import JudgeRequest, Trajectory, TrajectoryGroup

LENGTHS = np.array([5, 3, 9, 7, 4, 4, 8, 3])


def places(seed: int = 0, lengths: np.ndarray = LENGTHS, size: int = 4, **how: float | None) -> np.ndarray:
    return arrival_places(lengths, size, np.random.default_rng(seed), **{"jitter": None, "correlation": None, **how})


def test_without_jitter_shorter_rollouts_of_a_group_arrive_first():
    found = places(jitter=0.0)
    assert found[:4].tolist() == [1, 0, 3, 2]
    assert found[4:].tolist()[0] == 7
    assert sorted(found[5:7].tolist()) == [4, 5]
    assert found.tolist()[7] == 6


def test_equal_lengths_arrive_at_random():
    first = {int(places(seed, np.full(4, 5), jitter=0.0)[0]) for seed in range(50)}
    assert first == {0, 1, 2, 3}


@pytest.mark.parametrize("how", [{}, {"jitter": 2.0}, {"correlation": 0.5}, {"correlation": 1.0}])
def test_every_rollout_arrives_once_and_among_its_group(how: Any):
    found = places(3, **how)
    assert sorted(found[:4].tolist()) == [0, 1, 2, 3]
    assert sorted(found[4:].tolist()) == [4, 5, 6, 7]


@pytest.mark.parametrize("wanted", [-0.7, 0.0, 0.5, 1.0])
def test_the_order_has_the_correlation_to_length_that_is_asked_for(wanted: Any):
    generator = np.random.default_rng(1)
    lengths = generator.geometric(0.2, size=(4000, 8))
    found = arrival_places(lengths.ravel(), 8, generator, jitter=None, correlation=wanted)
    ranks = np.argsort(found.reshape(-1, 8), axis=1)
    spread = lengths.std(axis=1) > 0
    each = [np.corrcoef(*pair)[0, 1] for pair in zip(lengths[spread], ranks[spread], strict=True)]
    # Ranks are another scale than lengths, so even a perfect order has a correlation below 1.
    assert np.mean(each) == pytest.approx(wanted * 0.93, abs=0.07)


def test_large_jitter_makes_the_order_random():
    generator = np.random.default_rng(2)
    lengths = generator.integers(3, 24, size=(3000, 4))
    found = arrival_places(lengths.ravel(), 4, generator, jitter=1e6, correlation=None)
    assert np.mean(found.reshape(-1, 4) % 4 == np.arange(4)) == pytest.approx(0.25, abs=0.02)


class Watching(SimulatedJudge):
    """Notes the order of the trajectories in every question."""

    def __init__(self) -> None:
        super().__init__(lambda _group, _id: 0.5, model="watching")
        self.shown: list[list[str]] = []

    async def complete(self, request: JudgeRequest):
        view = request.view
        self.shown.append([view.ids[view.candidates[item].members[0]] for item in request.ask.order])
        return await super().complete(request)


def group(*texts: str) -> TrajectoryGroup:
    rows = tuple(Trajectory(str(n), ({"role": "assistant", "content": text},)) for n, text in enumerate(texts, 1))
    return TrajectoryGroup("g", rows, context=({"role": "user", "content": "Say a letter."},))


async def orders_shown(kind: type[Judge], *texts: str, orders: int) -> list[list[str]]:
    seen = Watching()
    await kind(seen, orders=orders).score_group(group(*texts))
    return seen.shown


@pytest.mark.parametrize("texts", ["dbca", "abcd"])
async def test_candidates_are_shown_as_they_arrived_then_reversed_then_rotated(texts: Any):
    shown = await orders_shown(ArrivalJudge, *texts, orders=4)
    assert shown == [list("1234"), list("4321"), list("2341"), list("1432")]


async def test_identical_rollouts_arrived_with_the_first_of_them():
    shown = await orders_shown(ArrivalJudge, *"bdbca", orders=2)
    assert shown == [["1", "2", "4", "5"], ["5", "4", "2", "1"]]


async def test_calipers_own_order_does_not_depend_on_arrival():
    texts = "dbca"
    one = await orders_shown(Judge, *texts, orders=2)
    other = await orders_shown(Judge, *reversed(texts), orders=2)
    assert [[texts[int(name) - 1] for name in row] for row in one] == [
        [texts[::-1][int(name) - 1] for name in row] for row in other
    ]


async def test_the_orders_of_arrival_are_those_of_calipers_with_another_first_one():
    texts = "dbcae"
    own = await orders_shown(Judge, *texts, orders=10)
    arrived = await orders_shown(ArrivalJudge, *texts, orders=10)
    instead = dict(zip(own[0], arrived[0], strict=True))
    assert [[instead[name] for name in row] for row in own] == arrived
    assert len({tuple(row) for row in arrived}) == 10


async def test_follow_ups_are_asked_as_calipers_asks_them():
    class Forgetful(Watching):
        async def complete(self, request: JudgeRequest) -> Any:
            found = await super().complete(request)
            if len(self.shown) > 1:
                return found
            key = request.keys[-1]
            reply = json.loads(found.text)
            del reply["scores"][key]
            return replace(found, text=json.dumps(reply))

    seen = Forgetful()
    result = await ArrivalJudge(seen).score_group(group(*"dbca"))
    assert [one.status for one in result.trajectories] == ["scored"] * 4
    assert len(seen.shown) == 2
    assert "4" in seen.shown[1]
    assert len(seen.shown[1]) < 4
