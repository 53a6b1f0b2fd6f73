"""A judge is calibrated again on current rollouts: off the path, with bounds, and an alarm when agreement falls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.judging.recalibration import Recalibration, RecalibrationSummary, group_fidelity
from calipers.testing import Drift, Noise, SimulatedJudge
from calipers.testing.biases import Bias
from calipers.testing.question import Question
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, TrajectoryResult, Verdict
from groups import FOUR, QUALITY, group_of


def group(number: int, **extra: Any) -> TrajectoryGroup:
    made = group_of(FOUR, group_id=f"g{number}", question=f"{number}?")
    return TrajectoryGroup(made.group_id, made.trajectories, made.context, extra=extra)


def finished(scores: dict[str, float | None], group_id: str = "g") -> GroupResult:
    rows = [TrajectoryResult(name, "scored" if score is not None else "failed", score, score)
            for name, score in scores.items()]  # fmt: skip
    return GroupResult(group_id, "scored", tuple(rows))


SCORED = finished({"right": 0.9, "close": 0.6, "far": 0.2, "silent": 0.0})


class Reversed(Bias):
    """Likes best what is worst."""

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        return [1 - opinion for opinion in opinions]


@pytest.mark.parametrize(
    ("scores", "opinion", "expected"),
    [
        ({"a": 0.0, "b": 0.5, "c": 1.0}, {"a": 1.0, "b": 2.0, "c": 3.0}, 1.0),
        ({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}, -1.0),
        ({"a": 0.5, "b": 0.5}, {"a": 0.0, "b": 1.0}, 0.0),
        ({"a": 0.5, "b": 0.7}, {"a": 1.0, "b": 1.0}, None),
        ({"a": 0.5, "b": None}, {"a": 0.0, "b": 1.0}, None),
        ({"a": 0.5, "b": 0.7}, {"a": None, "b": None}, None),
        ({"a": 0.0, "b": 1.0, "c": 0.0}, {"a": 0.0, "b": 1.0, "c": None}, 1.0),
    ],
)
def test_fidelity_is_the_correlation_of_calibrate_or_unknown(scores: Any, opinion: Any, expected: float | None):
    assert group_fidelity(scores, opinion) == (None if expected is None else pytest.approx(expected))


async def test_a_judge_that_turns_is_noticed_against_its_calibration_and_rewards_stay(
    capsys: pytest.CaptureFixture[str],
):
    turned = Drift(Reversed(), start=40)
    told: list[RecalibrationSummary] = []
    plain = Judge(SimulatedJudge(QUALITY, Noise(0.02), turned))
    before = [one.rewards async for one in plain.score_groups(map(group, range(90)), ordered=True, concurrency=1)]
    second = Judge(SimulatedJudge(QUALITY, Noise(0.05), seed=3))
    with Recalibration(second, share=1.0, calibrated=0.9, window=32, room=500, on_alarm=told.append) as again:
        judge = Judge(SimulatedJudge(QUALITY, Noise(0.02), turned), records={"watchers": [again]})
        results = [one async for one in judge.score_groups(map(group, range(90)), ordered=True, concurrency=1)]
    assert [one.rewards for one in results] == before
    assert (again.summary.sampled, again.summary.failed, again.summary.groups) == (90, 0, 32)
    found = again.metrics()
    assert found["judge/fidelity_now"] < -0.5
    assert found["judge/fidelity_low"] <= found["judge/fidelity_now"] <= found["judge/fidelity_high"] < 0.8
    (alarm,) = told
    assert alarm.high is not None
    assert alarm.high < 0.8
    assert "fidelity is" in capsys.readouterr().err
    late = again.seen(group(1), SCORED)
    assert "0.90 where it was calibrated" in late.warnings[-1]


async def test_a_judge_that_stays_as_calibrated_raises_no_alarm():
    second = Judge(SimulatedJudge(QUALITY, Noise(0.05), seed=3))
    with Recalibration(second, share=1.0, calibrated=0.99, drop=0.05, room=500) as again:
        judge = Judge(SimulatedJudge(QUALITY, Noise(0.02)), records={"watchers": [again]})
        results = [one async for one in judge.score_groups(map(group, range(64)))]
    assert again.summary.groups == 64
    assert not any(one.warnings for one in [*results, again.seen(group(1), SCORED)])


def test_an_opinion_that_fails_is_missing_and_no_number(capsys: pytest.CaptureFixture[str]):
    def broken(trajectory: Trajectory) -> Verdict:
        raise RuntimeError("broken check")

    with Recalibration(broken, share=1.0, calibrated=0.9) as again:
        for number in range(10):
            assert again.seen(group(number), SCORED) is SCORED
    assert (again.summary.failed, again.summary.fidelity, again.summary.last_error) == (
        10, None, "RuntimeError: broken check",
    )  # fmt: skip
    assert again.metrics() == {
        "judge/fidelity_groups": 0, "judge/fidelity_failed": 10, "judge/fidelity_calibrated": 0.9,
    }  # fmt: skip
    assert capsys.readouterr().err.count("broken check") == 1


async def test_a_second_judge_that_is_down_counts_as_failed():
    down = Judge(SimulatedJudge(lambda *_: 1 / 0))
    with Recalibration(down, share=1.0) as again:
        again.seen(group(1), SCORED)
    assert (again.summary.failed, again.summary.groups) == (1, 0)


def test_only_every_so_many_steps_and_a_share_of_their_groups_drawn_by_content():
    def sampled(seed: int = 0, share: float = 1.0, **extra: Any) -> list[int]:
        found = []
        with Recalibration(lambda _: Verdict(True), every=10, share=share, seed=seed, room=1000) as again:
            for number in range(100):
                before = again.summary.sampled
                again.seen(group(number, **extra), SCORED)
                found += [number] if again.summary.sampled > before else []
        return found

    assert sampled(step=7) == sampled(step=10, split="held_out") == []
    assert len(sampled(step=20)) == len(sampled()) == 100
    assert 10 < len(sampled(step=20, share=0.25)) < 45
    assert sampled(step=20, share=0.25) == sampled(step=20, share=0.25) != sampled(1, step=20, share=0.25)


def test_a_group_with_fewer_than_two_scores_is_not_asked_about():
    with Recalibration(lambda _: Verdict(True), share=1.0) as again:
        again.seen(group(1), finished({"right": 0.9, "close": None, "far": None, "silent": None}))
    assert again.summary.sampled == 0


def test_a_stuck_check_delays_nobody():
    begun, release = threading.Event(), threading.Event()

    def waits(trajectory: Trajectory) -> Verdict:
        begun.set()
        release.wait(30)
        return Verdict(True)

    again = Recalibration(waits, share=1.0, room=2)
    again.seen(group(0), SCORED)
    assert begun.wait(30)
    for number in range(1, 6):
        again.seen(group(number), SCORED)
    assert (again.summary.sampled, again.summary.dropped) == (3, 3)
    release.set()
    again.close()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"share": 0}, "share=0"),
        ({"share": 1.5}, "share=1.5"),
        ({"share": "all"}, "share='all'"),
        ({"share": True}, "share=True"),
        ({"share": float("nan")}, "share=nan"),
        ({"drop": -0.1}, "drop=-0.1"),
        ({"drop": "0.1"}, "drop='0.1'"),
        ({"calibrated": "0.8"}, "calibrated='0.8'"),
        ({"calibrated": 1.2}, "calibrated=1.2"),
        ({"every": 0}, "every"),
        ({"window": 2.5}, "window"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], told: str):
    with pytest.raises(ConfigError, match=told):
        Recalibration(lambda _: Verdict(True), **options)
    with pytest.raises(ConfigError, match="nor people to ask"):
        Recalibration(7)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"labels\.jsonl"):
        Recalibration("labels.jsonl")


async def test_the_second_judge_may_be_a_name():
    with Recalibration("embedded", share=1.0) as again:
        again.seen(group(1), SCORED)
    assert (again.summary.failed, again.summary.groups) == (0, 1)


@pytest.mark.parametrize("size", [1e101, 1e155, 1e200, 1e308])
def test_opinions_that_are_too_large_to_compute_with_are_missing_and_raise_no_alarm(size: float):
    with Recalibration(lambda one: size * (1 if one.id == "right" else -1), share=1.0, calibrated=0.8) as again:
        for number in range(10):
            again.seen(group(number), SCORED)
    found = again.metrics()
    assert ("judge/fidelity_now" in found, found["judge/fidelity_failed"]) == (False, 10)
    assert "too large to compute with" in (again.summary.last_error or "")
    assert again.seen(group(11), SCORED) is SCORED


class Later:
    """Somebody who answers later, with ``opinion`` about the last group, and sensibly about the first."""

    def __init__(self, opinion: dict[str, Any]) -> None:
        self.opinion = opinion

    def ask(self, group: TrajectoryGroup, scores: Any) -> None:
        pass

    def answers(self) -> dict[str, Any]:
        scores = {"right": 0.9, "far": 0.2}
        return {"first": (scores, {"right": 1.0, "far": 0.0}), "last": (scores, self.opinion)}


@pytest.mark.parametrize("value", [1e200, float("nan"), float("inf"), "1"])
def test_a_late_opinion_that_is_no_number_fails_once_and_spoils_no_other(value: Any):
    with Recalibration(Later({"right": value, "far": 0.0}), share=1.0) as again:
        for number in range(3):
            again.seen(group(number), SCORED)
    assert (again.summary.failed, again.summary.groups) == (1, 1)
    assert again.summary.fidelity == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
def test_a_check_that_would_end_the_process_is_a_failed_opinion(kind: Any, capsys: pytest.CaptureFixture[str]):
    def ends(trajectory: Trajectory) -> Verdict:
        raise kind("code 3")

    with Recalibration(ends, share=1.0) as again:
        for number in range(10):
            again.seen(group(number), SCORED)
    assert (again.summary.sampled, again.summary.failed, again.summary.groups) == (10, 10, 0)
    assert f"{kind.__name__}: code 3" in capsys.readouterr().err


def test_a_second_judge_that_would_end_the_process_is_a_failed_opinion():
    def ends(*_: object) -> float:
        raise SystemExit("code 3")

    with Recalibration(Judge(SimulatedJudge(ends)), share=1.0) as again:
        for number in range(3):
            again.seen(group(number), SCORED)
    assert (again.summary.failed, again.summary.groups) == (3, 0)
