"""``calipers judges``, run as a person runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from servers.faulty_server import Answer, FaultyServer


def judges(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calipers", "judges", *arguments],
        cwd=cwd, env=os.environ | {"COLUMNS": "200"} | environment, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip


def test_the_table_names_keys_by_their_variable_and_shows_no_value(tmp_path: Path):
    done = judges(cwd=tmp_path, OPENAI_API_KEY="sk-secret-secret")
    assert done.returncode == 0
    assert "openai/MODEL" in done.stdout
    assert "OPENAI_API_KEY is set" in done.stdout
    assert "secret" not in done.stdout + done.stderr
    assert "groq/MODEL" not in done.stdout
    assert "embedded" in done.stdout


def test_json_is_one_object_with_every_usual_local_address(tmp_path: Path):
    done = judges("--json", cwd=tmp_path, MISTRAL_API_KEY="secret")
    found = json.loads(done.stdout)
    assert [key["provider"] for key in found["keys"]] == ["mistral"]
    assert "secret" not in done.stdout
    addresses = {server["base_url"] for server in found["servers"]}
    assert {"http://localhost:8000/v1", "http://localhost:11434/v1"} < addresses
    assert all(server["reason"] or server["judges"] or server["answers"] for server in found["servers"])
    assert found["always"] == ["embedded"]


def test_what_a_server_offers_is_shown_without_password_and_without_a_call(tmp_path: Path, faulty: FaultyServer):
    rows = [{"id": "qwen3-32b", "owned_by": "vllm", "max_model_len": 32768}]
    faulty.get["/v1/models"] = Answer(body={"object": "list", "data": rows})
    url = faulty.url.replace("127.0.0.1", "me:secret@127.0.0.1")
    done = judges("--base-url", url, cwd=tmp_path, OPENAI_API_KEY="sk-secret-secret")
    assert done.returncode == 0
    assert f"{faulty.url} (vllm)\n  vllm/qwen3-32b" in done.stdout
    assert "answers, 32,768 tokens of context" in done.stdout
    assert f"calipers doctor --judge vllm/qwen3-32b --base-url {faulty.url}" in done.stdout
    assert "secret" not in done.stdout + done.stderr
    assert "sk-secret" not in str([asked.headers for asked in faulty.asked])
    assert faulty.posts == []
    found = json.loads(judges("--base-url", url, "--json", cwd=tmp_path).stdout)
    assert (found["judges"], found["base_url"]) == (["vllm/qwen3-32b"], faulty.url)


def test_a_server_that_is_not_there_is_said_with_exit_code_1(tmp_path: Path):
    done = judges("--base-url", "http://127.0.0.1:9/v1", cwd=tmp_path)
    assert done.returncode == 1
    assert "  Nothing answers at http://127.0.0.1:9 (" in done.stdout
    assert "is the server running" in done.stdout
    assert "Check host and port." in done.stdout


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999/v1", "http://127.0.0.1:abc/v1", "http://[::1/v1", "http://ü..x/v1", "foo", ""]
)
def test_an_address_that_is_none_is_said_before_anything_is_asked(tmp_path: Path, url: str):
    done = judges("--base-url", url, cwd=tmp_path)
    assert done.returncode == 2
    assert "--base-url" in done.stderr
    assert "should look like http://localhost:8000/v1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_with_many_models_and_odd_names_is_shown_in_lines_of_ours(tmp_path: Path, faulty: FaultyServer):
    rows = [{"id": "m0; touch x"}, {"id": "a\n\nError: fake"}, *({"id": f"m{at}"} for at in range(20_000))]
    faulty.get["/v1/models"] = Answer(body={"object": "list", "data": rows})
    done = judges("--base-url", faulty.url, cwd=tmp_path)
    assert done.returncode == 0
    assert "a\\n\\nError: fake" in done.stdout
    assert "--judge 'vllm/m0; touch x'" in done.stdout
    assert "and 19,962 more (--json lists all)" in done.stdout
    assert len(done.stdout.splitlines()) < 50
