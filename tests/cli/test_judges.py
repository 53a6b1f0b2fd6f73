"""``calipers judges``, run as a person runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path


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
