"""What ``calipers calibrate`` tells a newcomer: what could not be read, what was paid, what to do with the result."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import calipers
from judged import groups, rated
from servers.faulty_server import Answer, Asked, FaultyServer, said

GROUPS = groups(60)
PANEL = ("vllm/a@http://gpu1:8000/v1", "vllm/b@http://gpu1:8000/v1")


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calipers", *arguments],
        cwd=cwd, env=os.environ | {"COLUMNS": "160"}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def shown(number: int, **changes: Any) -> dict[str, Any]:
    """A group whose trajectories have messages and gold; ``changes`` rename keys, None drops them."""
    members = [
        {"id": name, "gold": gold, "messages": [{"role": "assistant", "content": f"{name} {number}"}]}
        for name, gold in (("a", 1), ("b", 0))
    ]
    named = [
        {changes.get(key, key): value for key, value in one.items() if changes.get(key, key) is not None}
        for one in members
    ]
    return {"group_id": f"g{number}", "context": [{"role": "user", "content": "Well?"}], "trajectories": named}


def scores(asked: Asked) -> Answer:
    question = asked.body["messages"][-1]["content"]
    named = re.search(r"Score these attempts: ([^.\n]+)\.", question)
    keys = named[1].split(", ") if named else []
    return said(json.dumps({"scores": {key: 20 + 10 * place for place, key in enumerate(keys)}}))


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A folder with recorded answers of two judges with long names, who are best as a panel."""
    write(tmp_path / "groups.jsonl", GROUPS)
    write(tmp_path / "said.jsonl", [
        line | {"judge": judge}
        for judge, letter in zip(PANEL, "ab", strict=True) for line in rated(GROUPS, letter, 1.0, mode="listwise")
    ])  # fmt: skip
    return tmp_path


@pytest.mark.parametrize("estimate", [(), ("--estimate",)])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps(shown(0), indent=1), "groups.jsonl:1: "),
        (
            json.dumps(shown(0)).replace('"gold": 1', '"gold": "1"'),
            "groups.jsonl:1: trajectory 'a': 'gold' must be a",
        ),
        (json.dumps(shown(0, messages="content")), """. Write 'content' as "messages": [{"role": "assistant","""),
    ],
)
def test_a_file_that_cannot_be_measured_says_why_before_a_judge_is_paid(
    tmp_path: Path, faulty: FaultyServer, text: str, words: str, estimate: tuple[str, ...]
):
    (tmp_path / "groups.jsonl").write_text(text + "\n", encoding="utf-8")
    done = run("calibrate", "groups.jsonl", "--judge", f"vllm/m@{faulty.url}", *estimate, cwd=tmp_path)
    assert (done.returncode, done.stdout, faulty.asked) == (2, "", [])
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_without_gold_noise_is_measured_with_a_warning_first(tmp_path: Path):
    write(tmp_path / "groups.jsonl", [shown(number, gold=None) for number in range(3)])
    done = run("calibrate", "groups.jsonl", "--judge", "embedded", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Warning: no trajectory has 'gold', so agreement cannot be measured: only bias")
    write(tmp_path / "rewards.jsonl", [shown(number, gold="reward") for number in range(3)])
    done = run("calibrate", "rewards.jsonl", "--judge", "embedded", cwd=tmp_path)
    assert "name them 'gold'" in done.stderr


def test_answers_from_the_ledger_are_not_told_as_if_paid_again(tmp_path: Path, faulty: FaultyServer):
    faulty.script(scores)
    write(tmp_path / "groups.jsonl", [shown(number) for number in range(3)])
    asking = ("calibrate", "groups.jsonl", "--judge", f"vllm/m@{faulty.url}", "--orders")
    first = run(*asking, "1", cwd=tmp_path)
    assert "vllm/m: 3 answers, " in first.stderr
    assert "ledger" not in first.stderr
    again = run(*asking, "1", cwd=tmp_path)
    assert "vllm/m: 3 answers, 3 of them from the ledger, nothing was sent" in again.stderr
    more = run(*asking, "2", cwd=tmp_path)
    assert "vllm/m: 6 answers, 3 of them from the ledger, " in more.stderr
    assert more.stderr.rstrip().endswith("cost unknown as first paid")


def test_judges_are_named_without_their_server_and_each_address_is_printed_once(two: Path):
    done = run("calibrate", "groups.jsonl", "--judgments", "said.jsonl", cwd=two)
    assert done.returncode == 0, done.stderr
    report, _, recommendation = done.stdout.partition("\nRecommendation (TOML")
    assert report.count("http://gpu1:8000/v1") == 1
    assert "vllm/a, vllm/b: http://gpu1:8000/v1" in report
    comments = [line for line in recommendation.splitlines() if line.startswith("#")]
    assert not [line for line in comments if "http" in line]
    assert tomllib.loads(recommendation.partition("\n")[2])["judge"] == list(PANEL)
    same = [json.loads(line) for line in (two / "said.jsonl").read_text("utf-8").splitlines()]
    write(
        two / "said.jsonl",
        [one | {"judge": one["judge"].replace("vllm/b@http://gpu1", "vllm/a@http://gpu2")} for one in same],
    )
    done = run("calibrate", "groups.jsonl", "--judgments", "said.jsonl", cwd=two)
    assert " vllm/a@http://gpu1:8000/v1  " in done.stdout, "one model on two servers: the address tells which"


def test_a_recommendation_is_written_to_a_file_that_flags_and_python_take(two: Path):
    asking = ("calibrate", "groups.jsonl", "--judgments", "said.jsonl", "--recommendation", "best.toml")
    done = run(*asking, "--json", cwd=two)
    assert done.returncode == 0
    assert done.stderr == "Recommendation in best.toml: calipers --config best.toml score GROUPS -o OUT\n"
    text = (two / "best.toml").read_text(encoding="utf-8")
    assert text == "# Recommended by calipers calibrate.\n" + json.loads(done.stdout)["recommendation"]
    judge = calipers.Judge.of(tomllib.loads(text))
    assert [one.judge for one in judge.settings.judges] == list(PANEL)
    assert sum(judge.settings.panel.weights or ()) == pytest.approx(1, abs=0.001)
    write(two / "shown.jsonl", [shown(0)])
    scored = run("--config", "best.toml", "score", "shown.jsonl", "-o", "out.jsonl", "--estimate", cwd=two)
    assert scored.returncode == 0, scored.stderr
    assert run(*asking, "--force", cwd=two).returncode == 0
    (two / "best.toml").write_text('judge = "mine"\n', encoding="utf-8")
    refused = run(*asking, cwd=two)
    assert refused.returncode == 2
    assert "--recommendation best.toml: exists, so it is not replaced" in refused.stderr


def test_answers_of_the_ledger_and_of_the_saved_file_count_once(tmp_path: Path, faulty: FaultyServer):
    """Both are the same answers: taken for repeats, they made a random judge look repeatable."""
    faulty.script(scores)
    write(tmp_path / "groups.jsonl", [shown(number) for number in range(3)])
    asking = ("calibrate", "groups.jsonl", "--judge", f"vllm/m@{faulty.url}", "--orders", "2", "--ledger", "l.db")
    first = run(*asking, "--save", "kept.jsonl", "--json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    again = run(*asking, "--judgments", "kept.jsonl", "--price", "1,2", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    once, more = (json.loads(one.stdout) for one in (first, again))
    assert [one["calls_per_group"] for one in (*once["judges"], *more["judges"])] == [2.0, 2.0]
    (told,) = [one["text"] for one in more["findings"] if one["kind"] == "copies"]
    assert told.startswith("6 judgments are there already")
