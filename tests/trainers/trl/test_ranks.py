"""Two processes that each see half of a group: TRL's own trainer under torchrun, over loopback."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calipers.trainers.process import installed_version
from calipers.trainers.trl.reward import EXCLUDES_MISSING
from servers.faulty_server import Answer, Asked, FaultyServer, error
from servers.opinions import Opinions, models, reward_of

pytestmark = pytest.mark.timeout(150)
pytest.importorskip("trl", reason="TRL is not installed (pip install 'calipers[trl]')")

from trl_runs import advantages_of, close  # noqa: E402 - needs TRL

TESTS = Path(__file__).parents[2]
JUDGES: dict[str, Any] = {
    "plain": Opinions(),
    "silent": Opinions(silent_on_one=True),
    "failing": Opinions(refuses=""),
    "counted": Opinions(),
    "refused": lambda _: error(404, "no such model"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What both processes saw of the same runs."""
    folder = tmp_path_factory.mktemp("runs")
    with FaultyServer() as server:
        models(server, *JUDGES)
        server.script(answered)
        command = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--nproc_per_node=2"]
        command += ["--rdzv_backend=c10d", "--rdzv_endpoint=127.0.0.1:0", str(TESTS / "trl_runs.py")]
        done = subprocess.run(
            [*command, str(folder), server.url],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            env={**os.environ, "HOME": str(folder), "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


def answered(asked: Asked) -> Answer:
    answer: Answer = JUDGES[asked.body["model"]](asked)
    return answer


@pytest.mark.parametrize("name", ["whole", "split", "blocking", "silent", "failing", "two", "uneven"])
def test_both_processes_put_the_same_together(runs: list[dict[str, Any]], name: str):
    first, second = (json.dumps([run[name]["rewards"], run[name]["advantages"]]) for run in runs)
    assert first == second


@pytest.mark.parametrize("name", ["whole", "split", "blocking", "uneven"])
def test_every_completion_gets_its_own_reward_wherever_it_is(runs: list[dict[str, Any]], name: str):
    run = runs[0][name]
    assert run["rewards"]["judge"] == close([reward_of(text) for text in run["completions"]])
    assert len(set(run["completions"])) > 1


def test_each_group_is_judged_once_by_all_processes_together(runs: list[dict[str, Any]]):
    assert len(runs[0]["uneven"]["completions"]) == 12
    assert JUDGES["counted"].groups == 3
    assert JUDGES["plain"].groups == 2 + 1 + 1 + 1  # whole, split, blocking, two


@pytest.mark.skipif(
    (installed_version("trl") or EXCLUDES_MISSING) < EXCLUDES_MISSING,
    reason="this TRL (before 1.6) counts a missing row as 0",
)
def test_one_row_without_a_score_leaves_the_others_in_both_processes_as_without_it(runs: list[dict[str, Any]]):
    run = runs[0]["silent"]
    rewards = [
        math.nan if math.isnan(got) else reward_of(text)
        for text, got in zip(run["completions"], run["rewards"]["judge"], strict=True)
    ]
    assert sum(map(math.isnan, rewards)) == 1
    assert run["advantages"] == advantages_of(rewards)


def test_nothing_is_learned_from_a_group_that_could_not_be_judged(runs: list[dict[str, Any]]):
    assert runs[0]["failing"]["advantages"] == [0.0] * 4
    assert runs[0]["failing"]["metrics"]["grad_norm"] == [0.0]
    assert runs[0]["failing"]["metrics"].get("judge/failed", [1.0]) == [1.0]  # TRL before 1.0 logs none of ours


def test_two_judges_share_a_run_and_one_that_is_silent_on_a_row_withholds_the_group(runs: list[dict[str, Any]]):
    run = runs[0]["two"]
    assert run["rewards"]["first"] == close([reward_of(text) for text in run["completions"]])
    assert all(math.isnan(reward) for reward in run["rewards"]["second"])
    assert run["advantages"] == runs[0]["split"]["advantages"]


def test_what_stops_one_process_is_told_to_the_other_which_would_wait(runs: list[dict[str, Any]]):
    assert runs[1]["told"] == ["ConfigError", "no such column"]
    assert runs[0]["told"] == ["ConfigError", "process 1: no such column"]


def test_a_judge_that_refuses_every_question_ends_both_processes(runs: list[dict[str, Any]]):
    told = sorted(run["refused"] for run in runs)
    assert [sentence.partition("every question was refused")[0] for sentence in told] == ["", "process 0: "]
