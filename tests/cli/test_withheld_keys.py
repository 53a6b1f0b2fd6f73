"""A settings file that nobody named writes no file and is given no key."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click
import pytest

from calipers.cli import app
from calipers.cli.score import score
from calipers.cli.withheld_keys import key_for
from calipers.errors import ConfigError
from groups import FOUR, QUALITY, group_of

KEY = "sk-the-real-key-of-whoever-works-here"


class Elsewhere(ThreadingHTTPServer):
    """A server that answers as a judge would and notes what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.heard: list[str] = []

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Elsewhere

    def do_GET(self) -> None:
        self._answer({"data": [{"id": "m"}]})

    def do_POST(self) -> None:
        self.server.heard.append(self.rfile.read(int(self.headers["content-length"])).decode())
        scores = json.dumps({"scores": {name: round(100 * value) for name, value in QUALITY.items()}})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": scores}}
        self._answer({"model": "m", "choices": [choice]})

    def _answer(self, body: object) -> None:
        self.server.heard.append(str(self.headers))
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    with Elsewhere() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "groups.jsonl").write_text(json.dumps(group_of(FOUR).to_dict()) + "\n", encoding="utf-8")
    return tmp_path


def calipers(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("CALIPERS_", "OPENAI_", "VLLM_"))}
    return subprocess.run(
        [sys.executable, "-m", "calipers", *map(str, arguments)],
        cwd=cwd, env=clean | {"COLUMNS": "200", "OPENAI_API_KEY": KEY} | environment,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


SCORE = ("score", "groups.jsonl", "-o", "out.jsonl")


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        ('judge = "openai/m"\nbase-url = "URL"', SCORE),
        ('judge = ["openai/m@URL"]', SCORE),
        ('judge = ["openai/m@URL", "embedded"]', SCORE),
        ('base-url = "URL"', (*SCORE, "--judge", "openai/m")),
        ('[score]\nbase-url = ["URL"]\njudge = "openai/m"', SCORE),
        ('judge = "openai/m"\nbase-url = "URL"', ("doctor", "--within", "5")),
        ('model = "openai/m"\nbase-url = "URL"', ("generate", "prompts.jsonl", "-o", "out.jsonl")),
        ('judge = "openai/m"\nbase-url = "URL"', ("rubric", "draft", "groups.jsonl", "-o", "rubric.toml")),
        ('judge = "openai/m@URL"', ("calibrate", "groups.jsonl")),
    ],
)
def test_a_key_does_not_go_to_an_address_from_a_file_found_by_chance(
    folder: Path, elsewhere: Elsewhere, settings: str, command: tuple[str, ...]
):
    (folder / "prompts.jsonl").write_text('{"prompt": "Say hello."}\n')
    (folder / "calipers.toml").write_text(settings.replace("URL", elsewhere.url))
    done = calipers(*command, cwd=folder)
    assert elsewhere.heard, done.stderr
    assert KEY not in "".join(elsewhere.heard)
    assert "Settings from calipers.toml" in done.stderr
    assert "OPENAI_API_KEY is not sent to localhost" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("judge", "variable"), [
    ("anthropic/m", "ANTHROPIC_AUTH_TOKEN"), ("fireworks_ai/m", "FIREWORKS_API_KEY"),
    ("openai/m", "OPENAI_CUSTOM_HEADERS"),
])  # fmt: skip
def test_nor_does_a_key_under_another_name_a_token_or_a_header(
    folder: Path, elsewhere: Elsewhere, judge: str, variable: str
):
    (folder / "calipers.toml").write_text(f'judge = "{judge}"\nbase-url = "{elsewhere.url}"')
    done = calipers(*SCORE, cwd=folder, **{variable: f"x-gateway: {KEY}"})
    assert elsewhere.heard, done.stderr
    assert KEY not in "".join(elsewhere.heard)


def test_an_address_that_the_environment_names_too_gets_the_key(folder: Path, elsewhere: Elsewhere):
    (folder / "calipers.toml").write_text(f'judge = "openai/m"\nbase-url = "{elsewhere.url}"')
    calipers(*SCORE, cwd=folder, OPENAI_BASE_URL=elsewhere.url)
    assert KEY in "".join(elsewhere.heard)


@pytest.mark.parametrize("how", ["config", "variable", "flag"])
def test_a_key_goes_where_the_user_said(folder: Path, elsewhere: Elsewhere, how: str):
    (folder / "mine.toml").write_text(f'base-url = "{elsewhere.url}"\njudge = "openai/m"\nledger = "runs.db"\n')
    flags, variables = {
        "config": (["--config", "mine.toml", *SCORE], {}),
        "variable": ([*SCORE], {"CALIPERS_CONFIG": "mine.toml"}),
        "flag": ([*SCORE, "--judge", "openai/m", "--base-url", elsewhere.url], {}),
    }[how]
    done = calipers(*flags, cwd=folder, **variables)
    assert KEY in "".join(elsewhere.heard)
    assert ("Settings from mine.toml" in done.stderr) == (how != "flag")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ('out = "victim"', "out"),
        ('[score]\nledger = "victim"', "ledger"),
        ('[replay]\nout = "victim"', "out"),
        ("force = true", "force"),
        ('save = "victim"', "save"),
        ('merge_target = "victim"', "merge-target"),
        ('[rubric]\nledger = "victim"', "ledger"),
        ('ckpt-dir = "somebodys"', "ckpt-dir"),
    ],
)
def test_a_file_found_by_chance_names_nothing_that_is_written(folder: Path, settings: str, named: str):
    (folder / "victim").write_text("mine\n")
    (folder / "calipers.toml").write_text(settings)
    done = calipers(*SCORE, cwd=folder)
    assert done.returncode == 2
    assert f"'{named}' names a file to write or to unpickle" in done.stderr
    assert "--config calipers.toml" in done.stderr
    assert (folder / "victim").read_text() == "mine\n"


def test_a_parameter_that_is_an_address_is_refused_from_a_file_found_by_chance(folder: Path):
    (folder / "calipers.toml").write_text('judge = "openai/m"\nparam = ["api_base=http://elsewhere/v1"]\n')
    done = calipers(*SCORE, cwd=folder)
    assert done.returncode == 2
    assert "api_base" in done.stderr


@pytest.mark.parametrize(
    ("judge", "url", "variables", "goes"),
    [
        ("openai/m", "https://api.openai.com/v1", {"OPENAI_API_KEY": KEY}, True),
        ("openai/m", "https://api.openai.com:443/v2", {"OPENAI_API_KEY": KEY}, True),
        ("openai/m", "http://api.openai.com/v1", {"OPENAI_API_KEY": KEY}, False),
        ("openai/m", "https://api.openai.com:8443/v1", {"OPENAI_API_KEY": KEY}, False),
        ("openai/m", "https://api.openai.com@elsewhere/v1", {"OPENAI_API_KEY": KEY}, False),
        ("openai/m", "https://api.openai.com.elsewhere/v1", {"OPENAI_API_KEY": KEY}, False),
        ("openai/m", "http://[::1", {"OPENAI_API_KEY": KEY}, False),
        ("vllm/m", "http://localhost:8000/v1", {"VLLM_API_KEY": KEY}, True),
        ("vllm/m", "http://localhost:8001/v1", {"VLLM_API_KEY": KEY}, False),
        ("somebody/m", "https://elsewhere/v1", {}, False),
    ],
)
def test_a_key_goes_to_its_own_scheme_host_and_port_only(
    monkeypatch: pytest.MonkeyPatch, judge: str, url: str, variables: dict[str, str], *, goes: bool
):
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "VLLM_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with _found(judge=[judge], base_url=[url]):
        assert (key_for(judge, [url]) is None) == goes
    with _found(judge=[f"{judge}@{url}"]):
        assert (key_for(f"{judge}@{url}") is None) == goes


def test_an_address_as_a_models_name_gets_no_key():
    with _found(judge=["huggingface/https://elsewhere/v1"]):
        assert key_for("huggingface/https://elsewhere/v1") == "withheld"


@pytest.mark.parametrize(
    "param",
    [
        "aws_bedrock_runtime_endpoint=http://e",
        "vertex_project=x",
        "model_list=[]",
        'fallbacks=[{"model": "x"}]',
        "headers={}",
    ],
)
def test_of_litellms_parameters_a_file_found_by_chance_sets_those_of_sampling_only(param: str):
    with _found(judge=["bedrock/m"], param=[param]), pytest.raises(ConfigError, match="may change which server"):
        key_for("bedrock/m")
    with _found(judge=["bedrock/m"], param=["temperature=0"]):
        assert key_for("bedrock/m") is None
    with _found(judge=["openai/m"], param=[param]):
        assert key_for("openai/m") is None  # in the body of a question to the provider


def _found(**values: object) -> click.Context:
    """A run of ``score`` with settings from a file that nobody named."""
    outer = click.Context(app, info_name="calipers")
    outer.meta["calipers.config.found_by_chance"] = True
    return score.make_context("score", ["-", "-o", "o"], parent=outer, default_map=values)
