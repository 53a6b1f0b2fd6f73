"""What a terminal is shown: foreign text never commands it."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from calipers.cli.terminal import Terminal, print_figures
from calipers.types.encoding import printable
from command_line import Calipers
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


def test_a_group_id_does_not_command_the_terminal_of_a_run(tmp_path: Path, calipers: Calipers) -> None:
    groups = [group_of(FOUR, group_id=HOSTILE).to_dict(), {"group_id": HOSTILE, "trajectories": HOSTILE}]
    (tmp_path / "groups.jsonl").write_text("".join(json.dumps(one) + "\n" for one in groups), encoding="utf-8")
    shown = calipers("score", "groups.jsonl", "-o", "out.jsonl", "-vv").err
    assert "\\x1b[2J" in shown
    assert not any(sign in shown for sign in COMMANDS)
    assert json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])["group_id"] == HOSTILE


def figures(width: int, *table: Any, together: int = 1) -> list[str]:
    out = io.StringIO()
    print_figures(Console(file=out, width=width, highlight=False), *table, together=together)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_names_and_figures_stand_side_by_side_where_there_is_room_else_each_name_above_its_figures() -> None:
    rows = [("openai/m", "listwise", "0.578", "0.427 to 0.706", "0.296"), ("[bold]odd", "", "0.700", "", "-")]
    table = ("Judges", ("judge", "asked"), ("fidelity", "", "sign err"), rows)
    title, head, first, second = figures(100, *table)
    assert (title, head.split()) == ("Judges", ["judge", "asked", "fidelity", "sign", "err"])
    assert first.split() == ["openai/m", "listwise", "0.578", "0.427", "to", "0.706", "0.296"]
    assert second.split() == ["[bold]odd", "0.700", "-"]
    assert figures(40, *table) == figures(10, *table) == [
        "Judges",
        "openai/m: listwise",
        "  fidelity  0.578  0.427 to 0.706",
        "  sign err  0.296",
        "[bold]odd",
        "  fidelity  0.700",
        "  sign err      -",
    ]  # fmt: skip
