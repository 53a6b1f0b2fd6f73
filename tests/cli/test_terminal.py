"""What a terminal is shown: foreign text never commands it."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from calipers.cli.terminal import Terminal
from calipers.judging.describe import describe_result
from calipers.types import GroupResult, TrajectoryResult
from calipers.types.encoding import printable
from groups import FOUR, group_of

HOSTILE = "id\x1b[2J\x1b]0;owned\x07\x9b31m\r\u202egpj"
COMMANDS = ("\x1b", "\x07", "\x9b", "\r", "\u202e")


@given(st.text())
def test_printable_text_holds_no_command_and_loses_nothing_else(text: str) -> None:
    shown = printable(text)
    assert not any(sign in shown for sign in COMMANDS)
    assert printable(shown) == shown
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize("tty", [True, False])
def test_a_console_shows_escapes_of_texts_and_keeps_its_own(tty: bool) -> None:  # noqa: FBT001 - a case
    file = io.StringIO()
    console = Terminal(file=file, force_terminal=tty, color_system="standard" if tty else None, width=200)
    table = Table(HOSTILE)
    table.add_row(Text(HOSTILE), style="red")
    console.print(table, HOSTILE, markup=False)
    shown = file.getvalue()
    assert "\\x1b[2J" in shown
    assert "\x1b[2J" not in shown
    assert not any(sign in shown for sign in COMMANDS[1:])
    assert ("\x1b[31m" in shown) == tty


def test_what_a_person_reads_of_a_result_holds_no_command() -> None:
    one = TrajectoryResult(HOSTILE, "failed", None, None, None, "", HOSTILE)
    shown = describe_result(GroupResult(HOSTILE, "failed", (one,), 0, warnings=(HOSTILE,)))
    assert not any(sign in shown for sign in COMMANDS)


def test_a_group_id_does_not_command_the_terminal_of_a_run(tmp_path: Path) -> None:
    groups = [group_of(FOUR, group_id=HOSTILE).to_dict(), {"group_id": HOSTILE, "trajectories": HOSTILE}]
    (tmp_path / "groups.jsonl").write_text("".join(json.dumps(one) + "\n" for one in groups), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "calipers", "score", "groups.jsonl", "-o", "out.jsonl", "-vv"],
        cwd=tmp_path, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    shown = done.stderr.decode()
    assert "\\x1b[2J" in shown
    assert not any(sign in shown for sign in COMMANDS)
    assert json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])["group_id"] == HOSTILE
