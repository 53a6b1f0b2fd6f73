"""``calipers doctor``, run as a person runs it."""

import io
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from calipers.cli.doctor import Progress
from calipers.cli.progress import ProgressLine
from calipers.types import Usage
from doctor.probe_judges import MODELS, judge
from servers.faulty_server import FaultyServer, said


def doctor(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calipers", "doctor", *map(str, arguments)],
        cwd=cwd, env=os.environ | {"COLUMNS": "200"} | environment, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip


@pytest.fixture
def good(faulty: FaultyServer) -> FaultyServer:
    faulty.get["/v1/models"] = MODELS
    faulty.script(judge())
    return faulty


def test_a_fit_judge_is_0_and_its_settings_are_those_a_run_takes(good: FaultyServer, tmp_path: Path):
    done = doctor("--judge", "vllm/m", "--base-url", good.url, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "vllm/m: fit: 24 of 24 answers readable, 36 of 36 pairs right" in done.stdout
    pasted = done.stdout.partition("# judge.toml, for calipers --config judge.toml\n")[2]
    assert tomllib.loads(pasted) == {"judge": "vllm/m", "base-url": good.url}
    (tmp_path / "judge.toml").write_text(pasted)
    group: Any = {"trajectories": [{"id": name, "messages": [{"role": "assistant", "content": name}]} for name in "ab"]}
    (tmp_path / "groups.jsonl").write_text(json.dumps(group) + "\n")
    good.script(said("no verdict"))
    before = len(good.posts)
    arguments = [sys.executable, "-m", "calipers", "--config", "judge.toml", "score", "groups.jsonl", "-o", "out.jsonl"]
    scored = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert scored.returncode == 1, scored.stderr  # asked of the judge named in the file, which now says nothing
    assert len(good.posts) > before


def test_json_is_one_object_alone_on_stdout_and_progress_goes_to_stderr(good: FaultyServer, tmp_path: Path):
    done = doctor("--judge", "vllm/m", "--base-url", good.url, "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (found["verdict"], found["calls"]) == ("fit", 31)
    assert found["checks"]["json_schema applied"]["applied"] is True
    assert found["checks"]["agreement"]["right"] == 36
    assert found["usage"]["cost_usd"] is None
    assert "does it answer?" in done.stderr


def test_an_unfit_judge_is_1_with_the_reason(tmp_path: Path):
    done = doctor("--judge", "vllm/m", "--base-url", "http://127.0.0.1:9/v1", cwd=tmp_path)
    assert done.returncode == 1
    assert "vllm/m: unfit: Nothing answers at http://127.0.0.1:9" in done.stdout
    assert "calipers.toml" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--judge"),
        (["--judge", "gpt-5"], "provider/model"),
        (["--judge", "openai/gpt-5"], "OPENAI_API_KEY"),
        (["--judge", "vllm/m", "--base-url", "localhost:8000"], "http://"),
        (["--judge", "vllm/a", "--judge", "vllm/b"], "one judge on one server"),
        (
            ["--judge", "vllm/a", "--base-url", "http://127.0.0.1:9/v1", "--base-url", "http://127.0.0.1:9/v1"],
            "more than once",
        ),
        (["--judge", "embedded", "--price", "cheap"], "--price"),
        (["--judge", "embedded", "--base-url", "http://127.0.0.1:9/v1"], "runs in this process"),
        (["--judge", "embedded", "--param", "temperature"], "KEY=VALUE"),
        (["--judge", "embedded", "--within", "0"], "--within"),
    ],
)
def test_bad_usage_is_2_and_one_sentence(arguments: list[str], words: str, tmp_path: Path):
    done = doctor(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_progress_counts_answers_tokens_and_dollars_of_all_servers():
    now, out = [0.0], io.StringIO()
    line = ProgressLine(Console(file=out, width=200), total=None, clock=lambda: now[0])
    progress = Progress(line, within=60, clock=lambda: now[0])
    progress.add(1, Usage(100, 20, cost_usd=0.01))
    now[0] = 20.0
    progress.add(1, Usage(200, 30, cost_usd=0.02))
    assert out.getvalue() == "2 answers, 350 tokens, $0.03, 20 of at most 60 s, 6/min\n"
    now[0] = 40.0
    progress.add(1, Usage(200, 30))  # of an unknown price: no sum is shown, rather than a wrong one
    assert "3 answers, 580 tokens, 40 of at most 60 s" in out.getvalue()
