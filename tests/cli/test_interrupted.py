"""Ctrl-C says what is true for the command, and a calibration goes on where it was interrupted."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from servers.faulty_server import Answer, Asked, FaultyServer

pytestmark = pytest.mark.slow  # started processes
ROOT = Path(__file__).resolve().parents[2]
GROUPS = ROOT / "examples" / "groups.jsonl"


def scored(asked: Asked) -> Answer:
    keys = asked.body["response_format"]["json_schema"]["schema"]["properties"]["scores"]["required"]
    text = json.dumps({"scores": {key: 10 * number for number, key in enumerate(keys)}})
    return Answer(body={"model": "m", "choices": [{"finish_reason": "stop", "message": {"content": text}}]})


@dataclass
class HangsAfter:
    """Answers so many questions, and no more."""

    server: FaultyServer
    answers: int

    def __call__(self, asked: Asked) -> Answer:
        return scored(asked) if len(self.server.posts) <= self.answers else Answer(hang=True)


def start(arguments: list[Any], cwd: Path) -> subprocess.Popen[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("CALIPERS_")}
    return subprocess.Popen(
        [sys.executable, "-m", "calipers", *map(str, arguments)],
        cwd=cwd, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def answers_kept(ledger: Path) -> int:
    if not ledger.exists():
        return 0
    connection = sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
    except sqlite3.OperationalError:  # its tables are being made
        return 0
    finally:
        connection.close()


def interrupted(
    arguments: list[Any], cwd: Path, server: FaultyServer, after: int, *, ledger: Path | None = None
) -> str:
    """What the command says if it is interrupted while its call number ``after`` + 1 hangs and, where there is a
    ledger, those before it are recorded.
    """
    server.script(HangsAfter(server, after))
    process = start(arguments, cwd)
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        if len(server.posts) > after and (ledger is None or answers_kept(ledger) >= after):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    return said


def test_an_interrupted_calibration_pays_for_no_answer_twice(tmp_path: Path, faulty: FaultyServer):
    judge = ["calibrate", GROUPS, "--judge", f"vllm/m@{faulty.url}", "--orders", 1]
    said = interrupted(judge, tmp_path, faulty, 5, ledger=tmp_path / "groups.jsonl.ledger.db")
    assert "Interrupted. Answers are in the ledger groups.jsonl.ledger.db: run the same command again" in said
    faulty.script(scored)
    before = len(faulty.posts)
    process = start(judge, tmp_path)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
    assert len(faulty.posts) - before <= 12 - 5 + 1


def test_score_names_its_ledger_and_without_one_says_that_it_begins_anew(tmp_path: Path, faulty: FaultyServer):
    judge = ["--judge", "vllm/m", "--base-url", faulty.url]
    said = interrupted(["score", GROUPS, "-o", "out.jsonl", *judge], tmp_path, faulty, 3)
    assert "Interrupted. Answers are in the ledger out.jsonl.ledger.db: run the same command again" in said
    said = interrupted(["score", GROUPS, "-o", "-", *judge], tmp_path, faulty, len(faulty.posts) + 3)
    assert "Interrupted. There is no ledger, so the same command begins anew; --ledger keeps answers." in said
