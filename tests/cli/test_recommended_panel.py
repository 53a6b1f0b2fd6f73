"""What ``calipers calibrate`` recommends runs as it stands: a panel whose judges have their own prompt variants."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import calipers
from judged import groups, rated
from servers.faulty_server import Answer, Asked, FaultyServer, said

GROUPS = groups(60)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calipers", *arguments],
        cwd=cwd, env=os.environ | {"COLUMNS": "160"}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def scores(asked: Asked) -> Answer:
    """Scores for all candidates that a question names."""
    question = asked.body["messages"][-1]["content"]
    named = re.search(r"Score these attempts: ([^.\n]+)\.", question)
    keys = named[1].split(", ") if named else []
    return said(json.dumps({"scores": {key: 10 * place for place, key in enumerate(keys)}}))


def with_texts(one: dict[str, Any]) -> dict[str, Any]:
    members = [
        member | {"messages": [{"role": "assistant", "content": f"It is {member['id']}."}]}
        for member in one["trajectories"]
    ]
    return one | {"context": [{"role": "user", "content": "Well?"}], "trajectories": members}


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_the_request_settings_that_were_measured_are_those_of_the_recommendation(tmp_path: Path, faulty: FaultyServer):
    """Flags and Python ask again as the recommended way was measured; no answer of the ledger is paid again."""
    faulty.script(scores)
    write(tmp_path / "groups.jsonl", [with_texts(one) for one in GROUPS[:4]])
    sent = ("--param", "temperature=0.3", "--param", "top_p=0.5", "--price", "1,2")
    measured = run(
        "calibrate", "groups.jsonl", "--judge", f"vllm/a@{faulty.url}", "--orders", "1", *sent, "--ledger", "l.db",
        "--recommendation", "best.toml", cwd=tmp_path,
    )  # fmt: skip
    assert measured.returncode == 0, measured.stderr
    before = len(faulty.posts)
    done = run(
        "--config", "best.toml", "score", "groups.jsonl", "-o", "out.jsonl", "--orders", "1", "--ledger", "l.db",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(faulty.posts) == before
    read = tomllib.loads((tmp_path / "best.toml").read_text(encoding="utf-8"))
    assert (read["param"], read["price"]) == (["temperature=0.3", "top_p=0.5"], "1,2")
    judge = calipers.Judge.of(read | {"ledger": None})
    assert judge.settings.calls.params == {"temperature": 0.3, "top_p": 0.5}
    judge.close()


def test_a_recommendation_of_recorded_names_that_are_no_judges_says_so(tmp_path: Path):
    write(tmp_path / "groups.jsonl", GROUPS)
    asking = ("calibrate", "groups.jsonl", "--judgments", "said.jsonl", "--recommendation", "best.toml", "--force")
    for judge, warned in (("my judge v2", True), ("openai/gpt-5", False)):
        write(tmp_path / "said.jsonl", [line | {"judge": judge} for line in rated(GROUPS, "a", 0.2, mode="listwise")])
        done = run(*asking, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert ("will not run" in done.stderr and f"'{judge}' is not a judge name" in done.stderr) is warned
