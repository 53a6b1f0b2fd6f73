"""What earlier answers teach: learned without labels, kept with the run, and worth its bytes."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calipers.judging.judge import Judge, replaying_judge
from calipers.ledger import Ledger, Replayer
from calipers.testing import Noise, PositionBias, SimulatedJudge
from calipers.types import GroupResult
from groups import group_of

IDS = ("a", "b", "c", "d")


def truths(count: int, seed: int) -> dict[tuple[str, str], float]:
    """Qualities of ``count`` groups of four, spread 0.15 around the middle."""
    generator = random.Random(seed)
    return {
        (f"g{seed}-{number}", name): min(max(generator.gauss(0.5, 0.15), 0.1), 0.9)
        for number in range(count)
        for name in IDS
    }


async def judged(truth: dict[tuple[str, str], float], *vices: Any, **options: Any) -> list[GroupResult]:
    judge = Judge.of({"judge": SimulatedJudge(lambda group, name: truth[group, name], *vices, model="sim"), **options})
    names = list(dict.fromkeys(group for group, _ in truth))
    groups = [group_of({one: f"{one} of {name}" for one in IDS}, group_id=name) for name in names]
    results = [result async for result in judge.score_groups(groups, ordered=True)]
    judge.close()
    return results


def errors(truth: dict[tuple[str, str], float], results: list[GroupResult]) -> tuple[float, float | None]:
    """The mean squared error of score differences, and the mean squared standard error."""
    squares, told = [], []
    for result in results:
        scores = np.array([one.score for one in result.trajectories], float)
        gold = np.array([truth[result.group_id, one.id] for one in result.trajectories])
        off = (scores - scores.mean()) - (gold - gold.mean())
        squares.append(float((off**2).sum()) / (len(off) - 1))
        told += [one.stderr**2 for one in result.trajectories if one.stderr is not None]
    return float(np.mean(squares)), float(np.mean(told)) if told else None


async def test_a_judges_noise_gives_a_single_call_an_honest_standard_error(tmp_path: Path):
    noise = Noise(0.1)
    earlier, now = truths(60, 1), truths(120, 2)
    without = await judged(now, noise, ledger=tmp_path / "none.db")
    assert errors(now, without)[1] is None
    await judged(earlier, noise, orders=2, ledger=tmp_path / "l.db")
    squared, told = errors(now, await judged(now, noise, ledger=tmp_path / "l.db"))
    assert told is not None
    assert 0.75 < squared / told < 1.35


async def test_what_a_place_is_worth_is_taken_out_of_a_single_order(tmp_path: Path):
    vices = (PositionBias(0.3), Noise(0.03))
    earlier, now = truths(60, 1), truths(80, 2)
    await judged(earlier, *vices, orders=2, ledger=tmp_path / "l.db")
    plain, _ = errors(now, await judged(now, *vices, ledger=tmp_path / "none.db"))
    aware, told = errors(now, await judged(now, *vices, ledger=tmp_path / "l.db"))
    assert aware < plain / 4
    assert told is not None
    ignored, _ = errors(now, await judged(now, *vices, ledger=tmp_path / "l.db", experience=False))
    assert ignored == plain


async def test_nothing_is_corrected_while_little_is_known(tmp_path: Path):
    vices = (PositionBias(0.3),)
    now = truths(10, 2)
    await judged(truths(6, 1), *vices, orders=2, ledger=tmp_path / "l.db")
    known = await judged(now, *vices, ledger=tmp_path / "l.db")
    assert known == await judged(now, *vices, ledger=tmp_path / "none.db")


async def test_the_same_input_is_judged_with_the_same_knowledge_and_replays(tmp_path: Path):
    """A run that is begun again must not differ from the first for what the first one taught."""
    path = tmp_path / "l.db"
    vices = (PositionBias(0.3), Noise(0.1))
    await judged(truths(60, 1), *vices, orders=2, ledger=path)
    now = truths(40, 2)
    first = await judged(now, *vices, orders=2, ledger=path)
    assert await judged(now, *vices, orders=2, ledger=path) == first
    ledger = Ledger(path)
    runs = [json.loads(row[0]) for row in ledger.rows("SELECT settings FROM runs ORDER BY id")]
    assert runs[0]["experience"] is None
    assert runs[1]["experience"] == runs[2]["experience"]
    assert runs[1]["experience"]["groups"] == 60
    store = Replayer(ledger)
    replaying = replaying_judge(store.settings(), store)
    again = [result async for result in replaying.score_groups(store.groups(), ordered=True)]
    ledger.close()
    assert again == first


async def test_further_orders_are_asked_only_while_they_settle_something(tmp_path: Path):
    path = tmp_path / "l.db"
    await judged(truths(60, 1), Noise(0.1), orders=2, ledger=path)
    clear = {key: {"a": 0.9, "b": 0.6, "c": 0.3, "d": 0.1}[key[1]] for key in truths(20, 2)}
    close = {key: {"a": 0.55, "b": 0.5, "c": 0.45, "d": 0.5}[key[1]] for key in truths(20, 3)}
    settled = await judged(clear, Noise(0.1), resolve=True, ledger=path)
    unsettled = await judged(close, Noise(0.1), resolve={"most": 6}, ledger=path)
    mean = [sum(one.judge_calls for one in results) / len(results) for results in (settled, unsettled)]
    assert mean[0] < 2.5
    assert 3 < mean[1] <= 6


async def test_without_any_knowledge_two_orders_are_asked_before_a_group_is_called_settled():
    results = await judged(truths(5, 1), resolve=True)
    assert {one.judge_calls for one in results} == {2}


async def test_the_other_order_of_a_pair_is_asked_where_the_verdict_is_what_the_judge_leans_to(tmp_path: Path):
    path = tmp_path / "l.db"
    vices = (PositionBias(0.5), Noise(0.1))
    both = await judged(truths(20, 1), *vices, protocol="pairwise", orders=2, ledger=path)
    assert {one.judge_calls for one in both} == {12}
    now = truths(30, 2)
    results = await judged(now, *vices, protocol="pairwise", resolve=True, ledger=path)
    mean = sum(one.judge_calls for one in results) / len(results)
    assert 6 < mean < 11


async def test_a_panel_that_comes_to_rest_on_one_member_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    truth = truths(30, 1) | truths(2, 2)
    for seed, count in ((1, 30), (2, 2)):
        assert not caplog.messages
        judges = [
            SimulatedJudge(lambda group, name: truth[group, name], Noise(size), model=f"m{size}")
            for size in (0.01, 0.3)
        ]
        judge = Judge.of({"judge": judges, "orders": 2, "ledger": tmp_path / "l.db"})
        names = list(dict.fromkeys(group for group, _ in truth if group.startswith(f"g{seed}")))
        groups = [group_of({one: f"{one} of {name}" for one in IDS}, group_id=name) for name in names]
        assert len([result async for result in judge.score_groups(groups)]) == count
        judge.close()
    (told,) = caplog.messages
    assert "one judge has most of the weight" in told
