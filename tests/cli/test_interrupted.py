"""Ctrl-C says what is true for the command, and a calibration goes on where it was interrupted."""

import signal
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from command_line import ended, started
from servers.dialects import verdict
from servers.faulty_server import Answer, Asked, FaultyServer, said

pytestmark = pytest.mark.slow  # started processes
GROUPS = Path(__file__).resolve().parents[2] / "examples" / "groups.jsonl"
KEPT = "Interrupted. Answers are in the ledger {}: run the same command again"


def answers_kept(ledger: Path) -> int:
    if not ledger.exists():
        return 0
    with closing(sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
        except sqlite3.OperationalError:  # its tables are being made
            return 0


def interrupted(
    arguments: Sequence[object], folder: Path, server: FaultyServer, after: int, *, ledger: Path | None = None
) -> str:
    """What the command says if it is interrupted while its call number ``after`` + 1 hangs and, where there is a
    ledger, those before it are recorded.
    """
    first = len(server.posts)

    def asked(question: Asked) -> Answer:
        return said(verdict(question)) if len(server.posts) - first <= after else Answer(hang=True)

    server.script(asked)
    process = started(folder, *arguments)
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        if len(server.posts) - first > after and (ledger is None or answers_kept(ledger) >= after):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    done = ended(process)
    assert done.code == 130, done.err
    return done.err


def test_an_interrupted_calibration_pays_for_no_answer_twice(tmp_path: Path, faulty: FaultyServer):
    judge = ["calibrate", GROUPS, "--judge", f"vllm/m@{faulty.url}", "--orders", 1]
    ledger = tmp_path / "groups.jsonl.ledger.db"
    assert KEPT.format(ledger.name) in interrupted(judge, tmp_path, faulty, 5, ledger=ledger)
    faulty.script(lambda asked: said(verdict(asked)))
    before = len(faulty.posts)
    again = ended(started(tmp_path, *judge))
    assert again.code == 0, again.err
    assert len(faulty.posts) - before <= 12 - 5 + 1


def test_score_names_its_ledger_and_without_one_says_that_it_begins_anew(tmp_path: Path, faulty: FaultyServer):
    judge = ("score", GROUPS, "--judge", "vllm/m", "--base-url", faulty.url, "-o")
    assert KEPT.format("out.jsonl.ledger.db") in interrupted((*judge, "out.jsonl"), tmp_path, faulty, 3)
    told = interrupted((*judge, "-"), tmp_path, faulty, 3)
    assert "Interrupted. There is no ledger, so the same command begins anew; --ledger keeps answers." in told
