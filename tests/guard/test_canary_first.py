"""Canaries in pairs and ratings: a question of their own first, and the real one only if the judge sees through
them.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from calipers.config.settings import Settings
from calipers.guard.canary import PASSES_BELOW, TEXTS, CanaryFirst
from calipers.judging.judge import Judge
from calipers.ledger import Ledger, Replayer
from calipers.protocols.scores import Pairwise, Pointwise
from calipers.render import render
from calipers.testing import HollowAnswers, Injectable, Noise, SimulatedJudge
from calipers.types import Ask, Canary, Completion, GroupResult, JudgeRequest
from groups import FOUR, group_of
from heard import Heard

QUALITY = {"right": 0.9, "close": 0.5, "far": 0.2, "silent": 0.15}
VIEW = render(group_of(FOUR))
PAIR, ALONE = Ask(0, (1, 2), (2, 1)), Ask(0, (3,), (3,))


async def results(judge: Judge, count: int = 10) -> list[GroupResult]:
    groups = [group_of(FOUR, group_id=f"g{n}", question=f"{n} + {n}?") for n in range(count)]
    return [result async for result in judge.score_groups(groups, ordered=True)]


def reply(request: JudgeRequest, canary: int, real: int = 40) -> Completion:
    scores = {key: canary if item == 4 else real for key, item in zip(request.keys, request.ask.order, strict=True)}
    return Completion(json.dumps({"scores": scores}))


def test_a_test_shows_a_canary_in_the_place_of_one_candidate() -> None:
    pair, alone = CanaryFirst(Pairwise(), 1.0).frame(PAIR, VIEW), CanaryFirst(Pointwise(), 1.0).frame(ALONE, VIEW)
    assert (len(pair.keys), len(alone.keys)) == (2, 1)
    assert len({4, 1, 2} & set(pair.ask.order)) == 2
    assert alone.ask.order == (4,)
    assert pair.view.candidates[4].messages[-1]["content"] in TEXTS.values()
    real = CanaryFirst(Pairwise(), 1.0).frame(dataclasses.replace(PAIR, cause="tested"), VIEW)
    assert real.messages == Pairwise().frame(PAIR, VIEW).messages


@pytest.mark.parametrize(("score", "won"), [(0, False), (40, False), (44, False), (46, True), (100, True)])
def test_in_a_pair_it_wins_by_leading_the_real_one_by_more_than_the_margin(score: int, *, won: bool) -> None:
    tested = CanaryFirst(Pairwise(), 1.0)
    for number in range(6):  # in either place
        request = tested.frame(dataclasses.replace(PAIR, number=number), VIEW)
        reading = tested.read(request, reply(request, score))
        assert reading.canary is not None
        assert (reading.canary.won, reading.canary.alone, reading.judgments) == (won, True, ())
        assert bool(reading.missing) is won


@pytest.mark.parametrize(("score", "won"), [(0, False), (49, False), (50, True), (90, True)])
def test_alone_it_wins_with_half_the_scale(score: int, *, won: bool) -> None:
    assert PASSES_BELOW == 0.5
    tested = CanaryFirst(Pointwise(), 1.0)
    request = tested.frame(ALONE, VIEW)
    reading = tested.read(request, reply(request, score))
    assert reading.canary is not None
    assert (reading.canary.won, set(reading.missing)) == (won, {3} if won else set())


def test_a_test_that_cannot_be_read_is_like_any_answer_that_cannot() -> None:
    tested = CanaryFirst(Pointwise(), 1.0)
    reading = tested.read(tested.frame(ALONE, VIEW), Completion("I cannot say."))
    assert (reading.canary, set(reading.missing)) == (None, {3})
    assert reading.complaint


WAYS: list[dict[str, Any]] = [
    {"protocol": "pairwise"},
    {"protocol": "pairwise", "resolve": True},
    {"protocol": "pointwise"},
    {"protocol": "pointwise", "orders": 2},
]


@pytest.mark.parametrize("how", WAYS, ids=str)
async def test_an_honest_judges_rewards_are_what_they_were_and_each_question_costs_a_test(how: dict[str, Any]) -> None:
    heard = Heard()
    tested = await results(
        Judge.of({"judge": SimulatedJudge(QUALITY), "canaries": "always", "watchers": [heard], **how}), 4
    )
    plain = await results(Judge.of({"judge": SimulatedJudge(QUALITY), **how}), 4)
    assert [one.rewards for one in tested] == [one.rewards for one in plain]
    assert [one.judge_calls for one in tested] == [2 * one.judge_calls for one in plain]
    assert len(heard.canaries) == sum(one.judge_calls for one in plain)
    assert not any(canary.won for canary in heard.canaries)


@pytest.mark.parametrize("protocol", ["pairwise", "pointwise"])
@pytest.mark.parametrize("vice", [HollowAnswers(1.0), Injectable(1.0)])
async def test_a_judge_that_falls_for_all_of_them_decides_nothing(
    protocol: str, vice: HollowAnswers | Injectable
) -> None:
    heard = Heard()
    judged = await results(
        Judge(
            SimulatedJudge(QUALITY, vice),
            protocol=protocol,
            defence={"canaries": "always"},
            records={"watchers": [heard]},
        )
    )
    assert any(canary.won for canary in heard.canaries)
    for request, reading in heard.events:
        if reading.judgments:  # it passed the test before
            before = next(
                r
                for q, r in heard.events
                if q.view.group_id == request.view.group_id and q.ask.number == request.ask.parent
            )
            assert before.canary == Canary(before.canary.kind, won=False, alone=True)  # type: ignore[union-attr]
    assert any("the judge scored a decoy" in warning for one in judged for warning in one.warnings)
    assert any(None in one.rewards for one in judged) or protocol == "pairwise"


async def test_a_judge_that_is_fooled_each_time_gives_no_reward() -> None:
    class Fool(SimulatedJudge):
        async def complete(self, request: JudgeRequest) -> Completion:
            return reply(request, 100)

    for protocol in ("pairwise", "pointwise"):
        judged = await results(Judge(Fool(QUALITY), protocol=protocol, defence={"canaries": "always"}), 3)
        assert {one.status for one in judged} == {"abstained"}
        assert all("the judge scored a decoy" in (one.trajectories[0].reason or "") for one in judged)


@pytest.mark.parametrize("protocol", ["pairwise", "pointwise"])
async def test_in_a_cycle_another_judge_is_tested_and_then_asked(protocol: str) -> None:
    heard = Heard()
    fooled, sound = SimulatedJudge(QUALITY, HollowAnswers()), SimulatedJudge(QUALITY, model="b")
    judge = Judge(
        [fooled, sound], panel="cycle", protocol=protocol, defence={"canaries": "always"}, records={"watchers": [heard]}
    )
    judged = await results(judge, 6)
    used = {
        request.ask.slot for request, reading in heard.events if reading.judgments and request.ask.parent is not None
    }
    assert used == {0, 1}
    assert {one.status for one in judged} <= {"scored", "partial"}
    # What two judges said of different candidates, once each, is on no common scale: left out, and never mixed.
    reasons = {one.reason for result in judged for one in result.trajectories if one.reward is None}
    assert reasons <= {"the judge's answers about it cannot be put on one scale"}


@pytest.mark.parametrize("protocol", ["pairwise", "pointwise"])
async def test_a_run_with_tests_replays_byte_for_byte(tmp_path: Path, protocol: str) -> None:
    ledger = tmp_path / "l.db"
    judge = Judge(
        SimulatedJudge(QUALITY, Noise(0.05), HollowAnswers()),
        protocol=protocol,
        defence={"canaries": "always"},
        ledger=ledger,
    )
    first = [result.to_dict() for result in await results(judge, 8)]
    judge.close()
    store = Replayer(Ledger(ledger, create=False))
    again = Judge.replaying(Settings.of(store.recorded.settings), store)
    replayed = [result.to_dict() async for result in again.score_groups(store.groups(), ordered=True)]
    assert json.dumps(replayed) == json.dumps(first)
    kept = [json.loads(row[0]).get("canary") for row in Ledger(ledger).rows("SELECT detail FROM asks")]
    assert {one["alone"] for one in kept if one is not None} == {True}
