"""What judging does, counted: commits, texts searched for injection, and modules imported.

A count is the same on a busy machine, where a time is not.
"""

import asyncio
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest

import calipers
from backends.virtual import Server
from calipers import pacing
from calipers.guard import injection
from calipers.render import render, render_in_steps
from groups import group_of


class Counting(sqlite3.Connection):
    """A connection that counts its commits."""

    commits: ClassVar[Counter[str]] = Counter()

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        self.commits[statement] += 1
        return super().execute(statement, *values)


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *values, **named: connect(*values, **named, factory=Counting))
    Counting.commits.clear()
    yield Counting.commits
    Counting.commits.clear()


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every turn of an event loop have time for about ten steps, however fast the machine is."""
    ticks = count(step=pacing.TURN / 10)
    monkeypatch.setattr(pacing, "perf_counter", lambda: next(ticks))


@pytest.mark.usefixtures("turns")
async def test_a_burst_of_small_groups_shares_its_commits(tmp_path: Path, commits: Counter[str]):
    """Without sharing over turns, these 128 groups take 130."""
    groups = [group_of({"a": f"yes {number}", "b": f"no {number}"}, group_id=f"g{number}") for number in range(128)]
    async with calipers.Judge(Server(seconds=0), ledger=tmp_path / "ledger.db") as judge:
        results = await asyncio.gather(*(judge.score_group(group) for group in groups))
    assert {result.status for result in results} == {"scored"}
    assert 2 <= commits["COMMIT"] <= 50


async def test_a_group_alone_does_not_wait_for_others_to_share_a_commit(tmp_path: Path, commits: Counter[str]):
    async with calipers.Judge(Server(seconds=0), ledger=tmp_path / "ledger.db") as judge:
        for number in range(3):
            before = commits["COMMIT"]
            await judge.score_group(group_of({"a": f"yes {number}", "b": "no"}))
            assert commits["COMMIT"] - before == 2  # the answer before it is used, and the result


PAGE = "The booking QX1204 was moved to Tuesday, and the refund of 120 euros was confirmed by the carrier. "


def test_text_that_siblings_share_is_searched_once(monkeypatch: pytest.MonkeyPatch):
    searched: list[str] = []
    original = injection._may_attack

    def counting(text: str) -> bool:
        searched.append(text)
        return original(text)

    monkeypatch.setattr(injection, "_may_attack", counting)
    own = {f"t{number}": f"{PAGE}It is case {number}." for number in range(8)}
    group = group_of(dict.fromkeys(own, PAGE * 50))
    group = calipers.TrajectoryGroup(
        "g",
        tuple(
            calipers.Trajectory(name, (*one.messages, {"role": "assistant", "content": own[name]}))
            for name, one in zip(own, group.trajectories, strict=True)
        ),
    )
    assert injection.attacks_in(render(group)) == {}
    assert sum(map(len, searched)) == len(PAGE) * 50 + sum(map(len, own.values()))


def test_a_step_of_the_search_has_a_few_texts_however_many_a_candidate_has():
    messages = tuple({"role": "tool", "content": f"{number} {PAGE * 10}"} for number in range(100))
    view = render(calipers.TrajectoryGroup("g", (calipers.Trajectory("a", messages),)))
    assert (
        sum(1 for _ in injection.attacks_in_steps(view)) == 100 // 5
    )  # 5 texts have 4 kB, which are screened together


def test_making_a_judge_imports_no_heavy_library_and_few_modules():
    """The number is what a judge behind a server needs today; a module more costs a millisecond."""
    code = (
        "import sys, calipers; calipers.Judge('vllm/m', base_url='http://127.0.0.1:1/v1'); "
        "print(sum(name.startswith('calipers') for name in sys.modules)); "
        "calipers.Judge('anthropic/m', api_key='k'); calipers.Judge('embedded'); "
        "print(*{'aiohttp', 'numpy', 'rich', 'click', 'pydantic', 'jsonschema', 'litellm'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == [found.stdout.split()[0]]
    assert int(found.stdout.split()[0]) <= 195


def test_help_imports_no_command_and_nothing_that_it_needs():
    code = "import sys; from calipers.cli import app; app.commands['show']; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert not loaded & {"calipers.cli.score", "calipers.cli.report", "calipers.judging", "aiohttp", "numpy", "rich"}
    assert sum(name.startswith("calipers") for name in loaded) <= 85


def test_no_step_of_rendering_has_more_than_one_candidate_of_a_group():
    """Exhibits are counted and found, and bodies written and finished, one candidate at a time."""

    def steps(members: int) -> int:
        return sum(1 for _ in render_in_steps(group_of({f"t{n}": f"{n} {PAGE * 40}" for n in range(members)})))

    assert steps(9) - steps(8) == 3
