"""What every adapter does around its judge: lines for lost groups, patience, and the end of a run that learns
nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from art_judges import ContentJudge
from calipers.errors import CalipersError, TransientError
from calipers.trainers.run import (
    PATIENCE,
    JudgedRun,
    complete_cohorts,
    lost_group_line,
    reasons_by_member,
    run_for_floats,
    shared_run,
)
from calipers.types import Completion, GroupResult, JudgeRequest, TrajectoryResult
from groups import FOUR, group_of
from http_judge import judge_at
from servers.faulty_server import FaultyServer, said


class Scripted:
    """Answers groups by what they ask: "lost" ones fail, "half" ones are scored in part."""

    endpoint = model = "scripted"

    async def complete(self, request: JudgeRequest) -> Completion:
        question = str(request.messages)
        if "lost" in question:
            raise TransientError("server", "out of order")
        keys = request.keys[:-1] if "half" in question else request.keys
        return Completion(json.dumps({"scores": {key: 10 * place for place, key in enumerate(keys)}}))


def judge() -> calipers.Judge:
    return calipers.Judge(Scripted(), question={"reasks": 0})


def group(kind: str, number: int = 0) -> Any:
    return group_of(FOUR, group_id=f"{kind}{number}", question=f"What is 17 + 25? ({kind} {number})")


async def test_by_default_a_run_whose_judge_is_gone_ends_after_so_many_groups_and_minutes() -> None:
    """A judge that vanishes at night: without this, the trainer goes through all its steps and learns nothing."""
    now = [0.0]
    run = JudgedRun(judge(), clock=lambda: now[0])
    for number in range(PATIENCE.groups + 4):
        await run.score([group("lost", number)])
    now[0] = 60 * PATIENCE.minutes - 1
    await run.score([group("lost", 90)])
    now[0] += 1
    with pytest.raises(CalipersError, match=r"38 groups in a row were lost in 10 minutes \(patience=32\)"):
        await run.score([group("lost", 91)])
    forever = JudgedRun(judge(), patience=None, clock=lambda: now[0])
    for number in range(PATIENCE.groups + 4):
        now[0] += 60
        await forever.score([group("lost", number)])
    assert forever.ended is None


@pytest.mark.parametrize(("judge", "said"), [("embedded", 1), ("profile:gpt-5.4", 1), (calipers.Judge, 0)])
def test_a_judge_that_is_not_for_training_is_said_once_in_a_run(
    judge: Any, said: int, caplog: pytest.LogCaptureFixture
) -> None:
    made = calipers.Judge(judge if isinstance(judge, str) else ContentJudge())
    run = JudgedRun(made)
    for _ in range(2):
        asyncio.run(run.score([group_of(FOUR)]))
    assert len([one for one in caplog.messages if "not for training" in one]) == said


async def test_a_group_that_is_scored_in_part_is_lost_where_the_trainer_needs_all_of_it() -> None:
    groups = [group("half", number) for number in range(2)]
    with pytest.raises(CalipersError):
        await JudgedRun(judge(), patience=2).score(groups)
    results = await JudgedRun(judge(), patience=2, min_scored=2).score(groups)
    assert [result.status for result in results] == ["partial"] * 2


async def test_groups_that_nobody_was_asked_about_neither_lose_nor_win_patience() -> None:
    run = JudgedRun(judge(), patience=2)
    alike = {"trajectories": [[{"role": "assistant", "content": "the same"}]] * 2}
    await run.score([group("lost")])
    await run.score([alike])
    with pytest.raises(CalipersError):
        await run.score([group("lost", 1)])


async def test_lines_have_the_group_and_the_end_of_the_run_is_said(caplog: pytest.LogCaptureFixture) -> None:
    run = JudgedRun(judge(), patience=2, consequence="so it does not train")
    with caplog.at_level(logging.WARNING, "calipers"), pytest.raises(CalipersError):
        await run.score([group("good"), group("half"), group("lost", 1), group("lost", 2)])
    first, second, third, last = caplog.messages
    assert first.startswith("partial group half0: 1 of 4 rollouts could not be scored, so it does not train: ")
    assert second.startswith("failed group lost1: 4 of 4 rollouts could not be scored, so it does not train: ")
    assert "out of order" in third
    assert last.startswith("the run ends: 2 groups in a row were lost (patience=2)")


def test_adapters_that_are_made_anew_for_every_group_share_one_run() -> None:
    one = judge()
    assert shared_run(one, 3) is shared_run(one, 3)
    assert shared_run(one, 3) is not shared_run(one, 4)
    assert shared_run(one, 3) is not shared_run(judge(), 3)


ON_AND_ON = """
import signal, threading, time
from calipers.trainers.run import interrupt
signal.signal(signal.SIGINT, signal.{handler})
threading.Timer(0.1, interrupt).start()
while True:
    try:
        time.sleep(0.05)
    except Exception:
        pass
"""


@pytest.mark.parametrize("handler", ["SIG_IGN", "default_int_handler"])
def test_interrupt_ends_a_process_that_goes_on_after_every_exception(handler: str) -> None:
    code = ON_AND_ON.format(handler=handler)
    env = {**os.environ, "PYTHONPATH": str(Path(calipers.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, timeout=60, check=False)
    if handler == "SIG_IGN":  # as in the background of a script
        assert done.returncode == -signal.SIGTERM
    else:
        assert done.returncode == -signal.SIGINT or b"KeyboardInterrupt" in done.stderr


async def test_an_exit_of_stop_ends_the_process_and_not_only_its_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted: list[bool] = []
    monkeypatch.setattr("calipers.trainers.run.interrupt", lambda: interrupted.append(True))
    await JudgedRun(judge(), patience=1, stop=sys.exit).score([group("lost")])
    assert interrupted == [True]


# --- the log ----------------------------------------------------------------------------------------------------------


def row(name: str, reason: str | None = "no answer came", *, reward: float | None = None) -> TrajectoryResult:
    return TrajectoryResult(name, "scored" if reward is not None else "failed", reward, reason=reason)


def test_a_line_has_each_reason_once() -> None:
    rows = (row("1"), row("2"), row("3", "the judge left it out"), row("4", None, reward=0.5))
    line = lost_group_line(GroupResult("g1", "partial", rows))
    assert line.endswith("1, 2 failed: no answer came; 3 failed: the judge left it out")
    many = [row(str(number)) for number in range(16)]
    assert reasons_by_member(many, 16) == "all failed: no answer came"
    assert reasons_by_member(many, 20) == "16 of them failed: no answer came"
    several = [row(str(number), f"reason {number}") for number in range(5)]
    assert reasons_by_member(several, 5).endswith("2 failed: reason 2; 2 further reasons")


@given(st.text(), st.text(), st.text())
def test_whatever_a_server_or_a_data_set_says_is_one_short_line(name: str, member: str, reason: str) -> None:
    line = lost_group_line(GroupResult(name, "failed", (row(member, reason * 50),)))
    assert len(line) < 800
    assert not any(unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} for sign in line)
    line.encode()


# --- where one number is returned for each rollout ------------------------------------------------------------------


async def test_a_group_that_never_becomes_whole_is_a_lost_group_too(
    faulty: FaultyServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A group size that is not the engine's keeps every group waiting, and nothing would ever be judged."""
    faulty.script(said("nobody asks"))
    run = run_for_floats(judge_at(faulty), patience=2)
    cohorts = complete_cohorts(run, size=3, deadline=0.05)
    with caplog.at_level(logging.WARNING, "calipers"):
        for key in "ab":
            member = {"messages": [{"role": "assistant", "content": "worth 1"}]}
            await cohorts.join(key, member, group={"group_id": key})
    assert caplog.messages[0].startswith("group a is lost, so all get the same reward: too few members")
    with pytest.raises(CalipersError, match="2 groups in a row"):
        run.require_running()
