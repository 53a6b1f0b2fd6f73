"""What every engine must train on, tried on its own advantages; called by the test of each engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from typing import Any

import pytest

import calipers
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer

Train = Callable[[calipers.Judge, Sequence[Sequence[str]]], Any]
"""Returns the engine's advantages of groups of rollouts that say these texts; the first group's prompt contains "Joke".

None stands for a rollout, or a group, that the engine does not train on. A function that is no coroutine function is
called in a thread.
"""

GOOD = ("worth 20", "worth 90", "worth 55")
OTHER = ("worth 30", "worth 10", "worth 60")
POINTS = (10, 30, 55, 65, 95)


async def trained(train: Train, judge: calipers.Judge, *groups: Sequence[str]) -> list[Any]:
    made = train(judge, groups) if iscoroutinefunction(train) else asyncio.to_thread(train, judge, groups)
    advantages: list[Any] = await made
    return advantages


async def require_failures_without_effect(
    faulty: FaultyServer, train: Train, *, lost: object = (0.0, 0.0, 0.0)
) -> None:
    """An engine that takes whole groups: one that is not scored whole trains nothing, and the next is as without it."""
    faulty.script(worth())
    good, other = await trained(train, judge_at(faulty), GOOD, OTHER)
    assert good[0] < good[2] < good[1]
    for failing in ({"never": [55]}, {"never": [20, 90, 55]}, {"down": "Joke"}):
        faulty.script(worth(**failing))
        found = await trained(train, judge_at(faulty), GOOD, OTHER)
        assert (found[0] if found[0] is None else tuple(found[0]), found[1]) == (lost, other), failing


async def require_exact_ties(faulty: FaultyServer, train: Train) -> None:
    """Engines divide by the deviation plus a tiny number, so a difference in the last bit would become an advantage."""
    faulty.script(worth())
    for points in (97, 81, 60, 30):
        (found,) = await trained(train, judge_at(faulty), [f"worth {points}{'!' * number}" for number in range(8)])
        assert found == [0.0] * 8, points
    (found,) = await trained(train, judge_at(faulty), ["first, worth 70", "worth 10", "second, worth 70"])
    assert found[0] == found[2] > 0 > found[1]


async def require_advantages_of_the_scored(faulty: FaultyServer, train: Train, *, unscored: float | None) -> None:
    """An engine that can leave a rollout out: the advantages of the others are those of the group without it."""
    for never in ((30,), (30, 65), (10, 30, 65)):
        faulty.script(worth(never=never))
        judge, kept = judge_at(faulty), [one for one in POINTS if one not in never]
        (found,) = await trained(train, judge, [f"worth {one}" for one in POINTS])
        (expected,) = await trained(train, judge, [f"worth {one}" for one in kept])
        by_points = dict(zip(POINTS, found, strict=True))
        assert [by_points[one] for one in kept] == pytest.approx(expected, abs=1e-7)
        assert [by_points[one] for one in never] == [
            None if unscored is None else pytest.approx(unscored, abs=1e-7) for _ in never
        ]
    faulty.script(worth())
    (found,) = await trained(train, judge_at(faulty), ["first, worth 70", "worth 10", "second, worth 70"])
    assert found[0] == found[2] > 0 > found[1]
