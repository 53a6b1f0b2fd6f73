"""A Watch beside a judge: what it measures, when, and that neither rewards nor the run depend on it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.study.curves import read_curves
from calipers.study.training.vices import Inverted
from calipers.study.watching import BrokenRule, StopRules, Watch
from calipers.testing import Noise, SimulatedJudge
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, Verdict
from groups import FOUR, QUALITY, group_of


def groups(count: int) -> list[TrajectoryGroup]:
    return [group_of(FOUR, group_id=f"g{n}", question=f"{n}?") for n in range(count)]


def is_right(rollout: Trajectory) -> bool:
    return bool(rollout.messages[-1]["content"] == "42")


async def judged(watch: Watch | None, steps: Sequence[int], *, judge: Any = None, count: int = 3) -> list[GroupResult]:
    """Judge groups in each of ``steps`` and tell the watch."""
    asked = Judge(judge or SimulatedJudge(QUALITY), records={"watchers": [watch] if watch else []})
    found = []
    for step in steps:
        found += [result async for result in asked.score_groups(groups(count), ordered=True)]
        if watch is not None:
            watch.step_done(step)
    return found


async def test_rewards_are_those_without_a_watch() -> None:
    watch = Watch(audit=SimulatedJudge(QUALITY), truth=is_right, every=1)
    assert [one.rewards for one in await judged(watch, [0])] == [one.rewards for one in await judged(None, [0])]


async def test_every_so_many_steps_a_sample_is_audited_and_all_are_checked() -> None:
    watch = Watch(audit=SimulatedJudge(QUALITY), truth=is_right, every=2, sample=2)
    await judged(watch, range(4))
    audited = [(one.step, one.group) for one in watch.groups if one.audit is not None]
    assert [step for step, _ in audited] == [0, 0, 2, 2]
    assert {one.step for one in watch.groups if one.truth is not None} == {0, 2}
    assert len(watch.groups) == 12
    first = next(one for one in watch.groups if one.audit is not None)
    assert (first.audit_gap, first.audit_fidelity, first.truth, first.truth_fidelity) == (0, 1, 0.25, 1)


async def test_which_groups_are_audited_depends_on_the_seed() -> None:
    drawn = set()
    for seed in (1, 1, 2, 3, 4):
        watch = Watch(audit=SimulatedJudge(QUALITY), sample=2, seed=seed)
        await judged(watch, [0], count=6)
        drawn.add(tuple(one.group for one in watch.groups if one.audit is not None))
    assert len(drawn) == 4


async def test_a_step_without_groups_leaves_its_audit_to_the_next() -> None:
    watch = Watch(truth=is_right, every=10)
    assert watch.step_done(0) == []
    await judged(watch, [1, 2, 9, 11])
    assert [one.step for one in watch.groups if one.truth is not None] == [1] * 3 + [11] * 3


async def test_held_out_groups_are_always_measured_and_kept_apart() -> None:
    watch = Watch(audit=SimulatedJudge(QUALITY), every=10, sample=1)
    await judged(watch, [0, 1])
    judge = Judge(SimulatedJudge(QUALITY), records={"watchers": [watch]})
    await judge.score_group(groups(1)[0])
    watch.step_done(2, "held_out")
    assert (watch.groups[-1].split, watch.groups[-1].step, watch.groups[-1].audit_gap) == ("held_out", 2, 0)


@pytest.mark.parametrize("verdict", [Verdict(True), True, 1, 1.0])
async def test_truth_is_a_verdict_a_bool_or_a_number_and_the_function_sees_the_prompt(verdict: Any) -> None:
    seen: list[Trajectory] = []

    def truth(rollout: Trajectory) -> Any:
        seen.append(rollout)
        return verdict if is_right(rollout) else None

    watch = Watch(truth=truth)
    await judged(watch, [0], count=1)
    assert watch.groups[0].truth == 1
    assert [message["role"] for message in seen[0].messages] == ["user", "assistant"]


async def test_an_audit_or_a_check_that_fails_is_unknown_and_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    class Down:
        model = endpoint = "down"

        async def complete(self, request: Any) -> Any:
            raise RuntimeError("the server is down")

    def broken(_: Trajectory) -> bool:
        raise KeyError("no such prompt")

    watch = Watch(audit=Down(), truth=broken, every=1)
    await judged(watch, [0, 1])
    assert {(one.audit, one.audit_gap, one.truth, one.truth_fidelity) for one in watch.groups} == {(None,) * 4}
    assert len(watch.groups) == 6
    assert capsys.readouterr().err.count("failed; its opinion is unknown, and the run goes on") == 1


async def test_a_disk_that_is_full_ends_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch = Watch(tmp_path / "gone", truth=is_right, every=1)
    watch.begin()
    shutil.rmtree(tmp_path / "gone")
    await judged(watch, [0, 1])
    watch.add_log(1, {"kl": 0.5})
    assert len(watch.groups) == 6
    assert capsys.readouterr().err.count("the watch cannot write to its folder, and the run goes on") == 1


async def test_a_broken_rule_is_told_once_and_ends_the_run_only_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[BrokenRule] = []
    rules = StopRules(fidelity=0.0, window=1)
    for stop in (False, True):
        watch = Watch(tmp_path / str(stop), truth=is_right, every=1, rules=rules, stop=stop, on_broken=told.append)
        watch.begin()
        await judged(watch, range(3), judge=SimulatedJudge(QUALITY, Inverted()))
        assert (watch.stopped is not None) is stop
        assert [one.rule for one in watch.broken] == ["fidelity"]
        assert watch.folder is not None
        assert watch.folder.broken() == watch.broken
    assert [one.step for one in told] == [0, 0]
    printed = capsys.readouterr().err
    assert (
        printed.count("stop rule fidelity is broken at step 0; the run goes on: rewards agree with the truth by") == 1
    )
    assert printed.count("stop rule fidelity is broken at step 0; the run ends") == 1


async def test_a_run_that_goes_on_is_the_same_as_one_that_was_not_interrupted(tmp_path: Path) -> None:
    def watch(name: str) -> Watch:
        return Watch(tmp_path / name, audit=SimulatedJudge(QUALITY), truth=is_right, every=2, sample=1, title="mine")

    whole, first, second = watch("whole"), watch("parts"), watch("parts")
    for one, begin, steps in ((whole, 0, range(6)), (first, 0, range(5)), (second, 3, range(3, 6))):
        one.begin(begin)
        await judged(one, steps)
        one.add_log(steps[-1], {"kl": 0.5})
    assert second.groups == whole.groups
    assert [row["step"] for row in second.log] == [5]  # that of step 4 was made again
    assert read_curves(str(tmp_path / "parts")).arms[0].runs == read_curves(str(tmp_path / "whole")).arms[0].runs


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"every": 0}, "every=0"),
        ({"sample": -1}, "sample=-1"),
        ({"rules": {"gap": 1}}, "it must be StopRules"),
        ({"rules": StopRules(gap=-1)}, "rules: gap=-1"),
        ({"truth": "is_right"}, "it must be a function of a trajectory"),
        ({"audit": 7}, "judge: it is a int"),
        ({"on_broken": 1}, "on_broken"),
    ],
)
def test_settings_that_cannot_work_are_an_error(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Watch(**options)


async def test_noise_of_the_judge_is_seen_in_its_fidelity(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "noisy", truth=is_right, every=1)
    watch.begin()
    await judged(watch, range(20), judge=SimulatedJudge(QUALITY, Noise(0.5), seed=3))
    (arm,) = read_curves(str(tmp_path / "noisy")).arms
    fidelity = [value for value in arm.runs["truth_fidelity"][0] if value is not None]
    assert 0.2 < sum(fidelity) / len(fidelity) < 0.9
