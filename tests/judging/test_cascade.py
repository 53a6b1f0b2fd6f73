"""A cascade end to end: which judge scored a group and why, failures, checks, breaches, and replays."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.backends.providers.scripted import Scripted
from calipers.config.settings import Settings
from calipers.errors import ConfigError, TransientError
from calipers.ledger import Replayer, open_ledger
from calipers.testing import Noise, SimulatedJudge
from calipers.types import Completion, GroupResult, JudgeRequest

CLEAR, CLOSE = {"a": 90, "b": 40, "c": 10}, {"a": 50, "b": 48, "c": 10}


def group(number: int = 0) -> dict[str, Any]:
    members = [{"id": name, "messages": [{"role": "assistant", "content": f"{name}{number}"}]} for name in "abc"]
    context = [{"role": "user", "content": f"Task {number}"}]
    return {"group_id": f"g{number}", "context": context, "trajectories": members}


def scripted(*replies: Any, model: str) -> Scripted:
    judge = Scripted([{"scores": one, "explanations": dict.fromkeys(one, model)} for one in replies])
    judge.model = model
    return judge


class Down:
    """A judge that never answers."""

    endpoint, model = "nowhere", "down"

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, request: JudgeRequest) -> Completion:
        self.calls += 1
        raise TransientError("server", "it is down")


class Slow(Down):
    """A judge that answers after the deadline."""

    async def complete(self, request: JudgeRequest) -> Completion:
        await asyncio.sleep(30)
        raise AssertionError


async def judged(judges: list[Any], **panel: Any) -> GroupResult:
    options = {"mode": "cascade", "confidence": 0.2, "check_share": 0.0} | panel
    return await calipers.Judge(judges, panel=options).score_group(group())


def rewards(result: GroupResult) -> dict[str, float | None]:
    return {one.id: one.reward for one in result.trajectories}


async def test_a_sure_judge_scores_its_group_alone():
    result = await judged([scripted(CLEAR, model="cheap"), Down()])
    assert rewards(result) == {"a": 0.9, "b": 0.4, "c": 0.1}
    assert result.judge_calls == 1
    assert result.extra["cascade"] == {
        "slot": 0, "judge": "Scripted", "why": "sure", "confidence": 0.5, "error": None, "thresholds": [0.2]
    }  # fmt: skip


async def test_an_unsure_judge_leaves_the_whole_group_to_the_next():
    result = await judged([scripted(CLOSE, model="cheap"), scripted({"a": 10, "b": 20, "c": 30}, model="strong")])
    assert rewards(result) == {"a": 0.1, "b": 0.2, "c": 0.3}
    assert {one.explanation for one in result.trajectories} == {"strong"}
    assert result.extra["cascade"]["why"] == "unsure"
    assert [one["answers"] for one in result.extra["judges"]] == [1, 1]


async def test_a_judge_that_fails_leaves_its_groups_to_the_next():
    result = await judged([Down(), scripted(CLEAR, model="strong")])
    assert rewards(result) == {"a": 0.9, "b": 0.4, "c": 0.1}
    assert (result.extra["cascade"]["why"], result.extra["cascade"]["confidence"]) == ("unusable", None)


@pytest.mark.parametrize("share", [0.0, 1.0])
async def test_where_the_last_judge_fails_there_is_no_reward_though_another_judge_gave_scores(share: float):
    cheap = scripted(CLEAR if share else CLOSE, model="cheap")
    result = await judged([cheap, Down()], check_share=share)
    assert set(rewards(result).values()) == {None}
    assert result.status == "failed"
    assert all("it is down" in (one.reason or "") for one in result.trajectories)
    assert all(one.score is None and one.explanation is None for one in result.trajectories)
    assert result.extra["cascade"]["error"] is None


async def test_what_the_last_judge_omits_is_not_filled_from_another_judge():
    strong = scripted(*[{"a": 10, "b": 20}] * 3, model="strong")
    result = await judged([scripted(CLOSE, model="cheap"), strong])
    assert rewards(result) == {"a": 0.1, "b": 0.2, "c": None}


async def test_a_checked_group_gets_the_last_judges_scores_and_says_how_far_they_differ():
    strong = scripted({"a": 10, "b": 40, "c": 90}, model="strong")
    result = await judged([scripted(CLEAR, model="cheap"), strong], check_share=1.0)
    assert rewards(result) == {"a": 0.1, "b": 0.4, "c": 0.9}
    assert result.extra["cascade"]["why"] == "check"
    assert result.extra["cascade"]["error"] == pytest.approx(0.98, abs=0.02)


async def test_a_deadline_that_passes_before_a_judge_is_sure_leaves_no_reward():
    judge = calipers.Judge(
        [scripted(CLEAR, model="cheap"), Slow()],
        panel={"mode": "cascade", "confidence": 0.6, "check_share": 0.0},
        deadline=0.2,
    )
    result = await judge.score_group(group())
    assert set(rewards(result).values()) == {None}
    assert all("deadline" in (one.reason or "") for one in result.trajectories)


async def test_a_deadline_within_the_first_judges_answers_leaves_no_reward():
    class Once(Scripted):
        async def complete(self, request: JudgeRequest) -> Completion:
            if request.ask.number:
                return await Slow().complete(request)
            return await super().complete(request)

    cheap = Once([{"scores": CLOSE}])
    judge = calipers.Judge(
        [cheap, Down()],
        panel={"mode": "cascade", "confidence": 0.3, "check_share": 0.0, "judge_orders": (2, 1)},
        deadline=0.2,
    )
    result = await judge.score_group(group())
    assert set(rewards(result).values()) == {None}
    assert result.status == "failed"
    assert result.extra["cascade"]["why"] == "late"


async def test_orders_may_differ_by_judge():
    cheap = scripted(CLOSE, CLOSE, CLOSE, model="cheap")
    result = await judged([cheap, scripted(CLEAR, model="strong")], judge_orders=(3, 1))
    assert [one["answers"] for one in result.extra["judges"]] == [3, 1]
    assert rewards(result)["a"] == 0.9


def simulated(count: int, *, noise: float) -> tuple[list[dict[str, Any]], list[SimulatedJudge]]:
    """Groups, a judge whose noise is given, and one that is nearly right."""
    generator = random.Random(3)
    quality: dict[str, float] = {}
    groups: list[dict[str, Any]] = []
    for number in range(count):
        members = [f"m{number}-{name}" for name in "abcd"]
        quality |= {name: generator.random() for name in members}
        trajectories = [{"id": name, "messages": [{"role": "assistant", "content": name}]} for name in members]
        context = [{"role": "user", "content": f"Task {number}"}]
        groups.append({"group_id": f"g{number}", "context": context, "trajectories": trajectories})
    judges = [
        SimulatedJudge(quality, Noise(noise), model="cheap"),
        SimulatedJudge(quality, Noise(0.01), model="strong"),
    ]
    return groups, judges


async def results_of(groups: list[Any], judges: list[Any], ledger: Path, **panel: Any) -> list[GroupResult]:
    options = {"mode": "cascade", "confidence": 0.15, "check_share": 0.5} | panel
    async with calipers.Judge(judges, panel=options, ledger=ledger, concurrency=4) as judge:
        return [result async for result in judge.score_groups(groups, ordered=True)]


def lines(results: list[GroupResult]) -> list[str]:
    return [json.dumps(one.to_dict()) for one in results]


async def test_a_breach_sends_all_later_groups_to_the_last_judge_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    groups, judges = simulated(120, noise=0.5)
    results = await results_of(groups, judges, tmp_path / "l.db", error_limit=0.05)
    whys = [one.extra["cascade"]["why"] for one in results]
    first = whys.index("breach")
    assert set(whys[:first]) >= {"unsure", "check"}
    late = results[-1]
    assert late.extra["cascade"] | {"judge": ""} == {
        "slot": 1, "judge": "", "why": "breach", "confidence": None, "error": None, "thresholds": [None]
    }  # fmt: skip
    assert any("no longer asked" in warning for warning in late.warnings)
    assert late.judge_calls == 1
    assert caplog.text.count("no longer asked in this run") == 1


async def test_a_judge_within_its_limit_is_not_breached(tmp_path: Path):
    groups, judges = simulated(150, noise=0.05)
    results = await results_of(groups, judges, tmp_path / "l.db", error_limit=0.2)
    assert set(Counter(one.extra["cascade"]["why"] for one in results)) == {"sure", "check", "unsure"}


async def test_a_replay_and_a_repeated_run_are_equal_though_thresholds_changed(tmp_path: Path):
    groups, judges = simulated(100, noise=0.5)
    path = tmp_path / "l.db"
    first = await results_of(groups, judges, path, error_limit=0.1)
    thresholds = {tuple(one.extra["cascade"]["thresholds"]) for one in first}
    assert len(thresholds) > 3
    assert (None,) in thresholds
    assert lines(await results_of(groups, judges, path, error_limit=0.1)) == lines(first)
    store = Replayer(open_ledger(path))
    again = calipers.Judge.replaying(Settings.of(store.recorded.settings), store)
    replayed = [result async for result in again.score_groups(store.groups(), ordered=True)]
    assert lines(replayed) == lines(first)


async def test_a_run_that_was_interrupted_goes_on_as_it_began(tmp_path: Path):
    groups, judges = simulated(100, noise=0.5)
    path = tmp_path / "l.db"
    begun = await results_of(groups[:60], judges, path, error_limit=0.1)
    whole = await results_of(groups, judges, path, error_limit=0.1)
    assert lines(whole[:60]) == lines(begun)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "panel='cascade' needs confidence="),
        ({"confidence": -1.0}, "give one number"),
        ({"confidence": [0.1, 0.2]}, r"one for each judge but the last \(1\)"),
        ({"confidence": 20}, r"confidence=20: it is in units of scores, which are from 0 to 1.* write 0\.2"),
        ({"confidence": 0.1, "judge_orders": [1]}, "one whole number above 0 for each of the 2 judges"),
        ({"confidence": 0.1, "judge_orders": [0, 1]}, "one whole number above 0"),
        ({"confidence": 0.1, "weights": [1, 2]}, "weights= are for panels"),
        ({"confidence": 0.1, "check_share": 2}, "check_share=2: it must be a number from 0 to 1"),
        ({"confidence": 0.1, "mode": "all"}, "confidence= is for panel='cascade'"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words):
        calipers.Judge([Down(), Scripted([])], panel={"mode": "cascade"} | options)


def test_strengths_from_comparisons_have_no_bound_and_so_has_confidence_in_them():
    panel = {"mode": "cascade", "confidence": 2.5}
    calipers.Judge([Down(), Scripted([])], panel=panel, protocol="pairwise")


def test_a_cascade_needs_a_fixed_number_of_calls_and_one_judge_a_group():
    panel = {"mode": "cascade", "confidence": 0.1}
    with pytest.raises(ConfigError, match="resolve= does not work with panel='cascade'"):
        calipers.Judge([Down(), Scripted([])], panel=panel, resolve=0.02)
    with pytest.raises(ConfigError, match="because with a cascade one judge scores a group"):
        calipers.Judge([Down(), Scripted([])], panel=panel, quorum=2)
