"""``--env-file``: keys and addresses before judges look them up, on every command that asks a judge."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
import pytest

from calipers.cli import app
from calipers.errors import ConfigError
from groups import FOUR, group_of
from http_judge import worth
from servers.faulty_server import FaultyServer

KEY = "sk-a-key-of-the-file-0001"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command sets in the environment is gone afterwards."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CALIPERS_ORDERS", "CALIPERS_ENV_FILE"):
        monkeypatch.setenv(name, "")
        del os.environ[name]


def groups_file(folder: Path) -> Path:
    path = folder / "groups.jsonl"
    answers = {name: f"worth {10 * number}" for number, name in enumerate(FOUR, 1)}
    path.write_text(json.dumps(group_of(answers).to_dict()) + "\n")
    return path


def test_score_takes_key_address_and_options_from_the_file_and_shows_no_value(
    faulty: FaultyServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    faulty.script(worth())
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\nOPENAI_BASE_URL='{faulty.url}'\nCALIPERS_ORDERS=2\n")
    out = tmp_path / "out.jsonl"
    arguments = ["score", str(groups_file(tmp_path)), "-o", str(out), "--judge", "openai/judge"]
    assert app.main([*arguments, "--env-file", str(tmp_path / ".env")], standalone_mode=False) in (0, None)
    result = json.loads(out.read_text())
    assert [one["reward"] for one in result["trajectories"]] == [0.1, 0.2, 0.3, 0.4]
    assert result["judge_calls"] == 2
    sent = [asked.headers for asked in faulty.asked if asked.method == "POST"]
    assert all(f"Bearer {KEY}" in headers.values() for headers in sent)
    printed = capfd.readouterr()
    assert KEY not in printed.out + printed.err


def test_a_bad_line_is_named_before_anything_else(tmp_path: Path):
    (tmp_path / ".env").write_text(f"A=1\n{KEY}\n")
    file = str(groups_file(tmp_path))
    given = {"score": [file, "-o", "x", "--judge", "openai/m"], "generate": [file, "-o", "x"], "calibrate": [file]}
    for command in ("score", "generate", "doctor", "calibrate", "serve"):
        with pytest.raises(ConfigError, match=r"\.env:2: is no variable") as caught:
            app.main([command, *given.get(command, []), "--env-file", str(tmp_path / ".env")], standalone_mode=False)
        assert KEY not in str(caught.value)


def test_a_settings_file_that_nobody_named_names_no_env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    (tmp_path / "calipers.toml").write_text('env-file = ".env"\n')
    with pytest.raises((ConfigError, click.ClickException), match="env-file"):
        app.main(["doctor", "--judge", "openai/m"], standalone_mode=False)
    assert "OPENAI_API_KEY" not in os.environ
