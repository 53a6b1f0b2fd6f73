"""What a terminal is shown: folded words, progress, levels of the log, and no command of foreign text."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from calipers.__main__ import main
from calipers.cli.messages import BadLines, reason_lines, wrap_words
from calipers.cli.progress import ProgressLine, Report, pace_text
from calipers.cli.terminal import Terminal, print_figures
from calipers.errors import InputError
from calipers.types import GroupResult, TrajectoryGroup, TrajectoryResult, Usage
from calipers.types.encoding import printable
from command_line import Calipers, mismatches, read_rows, write_rows
from groups import FOUR, group_of
from servers.faulty_server import FaultyServer, error, said

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
    broken = {"group_id": HOSTILE, "trajectories": HOSTILE}
    write_rows(tmp_path / "groups.jsonl", [group_of(FOUR, group_id=HOSTILE).to_dict(), broken])
    shown = calipers("score", "groups.jsonl", "-o", "out.jsonl", "-vv").err
    assert "\\x1b[2J" in shown
    assert not any(sign in shown for sign in COMMANDS)
    assert read_rows(tmp_path / "out.jsonl")[0]["group_id"] == HOSTILE


def figures(width: int, *table: Any, together: int = 1) -> list[str]:
    out = io.StringIO()
    print_figures(Console(file=out, width=width, highlight=False), *table, together=together)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_names_and_figures_stand_side_by_side_where_there_is_room_else_each_name_above_its_figures() -> None:
    rows = [("openai/m", "listwise", "0.578", "0.427 to 0.706", "0.296"), ("[bold]odd", "", "0.700", "", "-")]
    table = ("Judges", ("judge", "asked"), ("fidelity", "", "sign err"), rows)
    assert [line.split() for line in figures(100, *table)] == [
        ["Judges"],
        ["judge", "asked", "fidelity", "sign", "err"],
        ["openai/m", "listwise", "0.578", "0.427", "to", "0.706", "0.296"],
        ["[bold]odd", "0.700", "-"],
    ]
    assert figures(40, *table) == figures(10, *table) == [
        "Judges",
        "openai/m: listwise",
        "  fidelity  0.578  0.427 to 0.706",
        "  sign err  0.296",
        "[bold]odd",
        "  fidelity  0.700",
        "  sign err      -",
    ]  # fmt: skip


TEXTS = st.text(st.sampled_from("ab /-\n"), max_size=200)


@given(TEXTS, st.integers(20, 60))
def test_what_fits_stays_as_it_is_and_only_a_single_word_is_longer(text: str, width: int) -> None:
    for line in wrap_words(text, width).split("\n"):
        assert len(line) <= width or len(line.split()) == 1 or line in text.split("\n")
    if all(len(line) <= width for line in text.split("\n")):
        assert wrap_words(text, width) == text


def test_of_bad_lines_three_for_each_reason_and_ten_in_all_are_told_and_all_are_counted() -> None:
    said: list[str] = []
    bad = BadLines(said.append)
    for line in range(1, 1500):
        bad(InputError("not JSON" if line < 1000 else f"value {line}", source="f.jsonl", line=line))
        if line == 3:
            assert (len(said), bad.told) == (3, "3 (reported above; not scored)")
    shown = [*(f"f.jsonl:{n}: not JSON" for n in (1, 2, 3)), *(f"f.jsonl:{n}: value {n}" for n in range(1000, 1007))]
    further = "Error: further lines like these are only counted"
    assert said == [*(f"Error: {line}" for line in shown[:3]), further, *(f"Error: {line}" for line in shown[3:])]
    assert (bad.count, bad.told) == (1499, "1,499 (10 of them reported above; not scored)")


def test_reasons_that_differ_only_in_figures_are_one_and_the_rest_is_counted():
    reasons = {f"failed: the next try is {number}.5 s away, with 0.1 s left": 2 for number in range(10)}
    reasons |= {"HTTP 400: no 1": 4, "HTTP 400: no 2": 4, "failed: HTTP 503": 7, "no verdict": 3, "a": 2, "b": 1}
    assert reason_lines(reasons, 3) == [
        "20 × failed: the next try is … s away, with 0.1 s left",
        "8 × HTTP 400: no …",
        "7 × failed: HTTP 503",
        "+6 more for 3 other reasons",
    ]
    assert reason_lines({"a 1": 1}, 3) == ["1 × a 1"]
    assert reason_lines({}, 3) == []


GROUP = TrajectoryGroup("g", ())
ONE = GroupResult("g", "scored", (TrajectoryResult("a", "scored", 1.0, 1.0),), judge_calls=1)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def reported(**about: Any) -> tuple[Report, Clock, io.StringIO]:
    """A report, the clock it looks at, and what it prints."""
    clock, out = Clock(), io.StringIO()
    return Report(Console(file=out, width=200), clock=clock, **about), clock, out


def test_groups_that_finish_are_counted_though_one_before_them_has_not() -> None:
    report, clock, out = reported(total=80)
    for _ in range(36):
        clock.now += 1.0
        report.seen(GROUP, ONE)
    clock.now += 1.0
    report.add(ONE)
    assert "30 of 80 groups, 0 tokens, 1.0/s, 50.0 s left" in out.getvalue()
    report.summary()
    assert "groups         1: 1 scored" in out.getvalue()


def test_what_is_spent_and_what_has_no_score_are_part_of_the_line() -> None:
    report, clock, out = reported(total=None, budget={"usd": 5.0, "tokens": 2e6})
    lost = TrajectoryResult("a", "failed", None, None, reason="timeout"), TrajectoryResult("b", "abstained", None, None)
    clock.now += 11.0
    report.seen(GROUP, GroupResult("g", "failed", lost, judge_calls=1, attempts=1, usage=Usage(900, 100, 0, 0.125)))
    spent = "1,000 of 2,000,000 tokens, $0.12 of $5.00"
    assert out.getvalue() == f"1 groups, unscored: 1 abstained + 1 failed, {spent}, 5.5/min\n"


def test_a_slow_pace_is_told_by_the_minute() -> None:
    def told(*seconds: float) -> str:
        """What is printed where a group ends after each of these seconds."""
        report, clock, out = reported(total=10)
        for wait in seconds:
            clock.now += wait
            report.add(ONE)
        report.summary()
        return out.getvalue()

    paces = {1234.0: "1,234.0/s", 4.71: "4.7/s", 0.5: "0.5/s", 1 / 22: "2.7/min", 1 / 400: "0.15/min"}
    assert {rate: pace_text(rate) for rate in paces} == paces
    said = told(25.0, 60.0, 60.0)  # groups take longer than is looked back on
    assert "1 of 10 groups, 0 tokens, 2.4/min, 3 min 45 s left" in said
    assert "7 min 00 s left" in said
    assert "time           1 min 00 s, 2 groups/min\n" in told(25.0, 35.0)
    assert "time           1.0 s, 2.0 groups/s\n" in told(0.5, 0.5)


def test_in_a_narrow_terminal_the_rate_goes_before_the_line_does_not_fit() -> None:
    """A judge's name of 20 characters leaves room for the groups, the tokens and the time left."""
    out, clock = io.StringIO(), Clock()
    console = Console(file=out, width=80, force_terminal=True)
    said = "a-name-of-twenty-cha: 1,200 of 3,000 groups, 123,456 tokens"
    with ProgressLine(console, total=3_000, clock=clock) as line:
        line.move(0, said)
        clock.now += 100.0
        line.move(1_200, said)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
    (last,) = {part.strip() for part in re.split(r"[\r\n]", shown) if "1,200 of" in part and " left" in part}
    assert last.endswith(f"{said}, 2 min 30 s left")
    assert len(last) <= 80


@pytest.mark.parametrize("command", [("score", "groups.jsonl", "-o", "out.jsonl"), ("calibrate", "groups.jsonl")])
def test_retries_are_printed_at_the_level_debug_alone(
    command: tuple[str, ...], folder: Path, calipers: Calipers, faulty: FaultyServer
):
    asking = (*command, "--judge", f"vllm/m@{faulty.url}", "--orders", 1)
    retry = re.compile(r"^\d\d:\d\d:\d\d debug calipers\.calls: .*a call failed", re.MULTILINE)
    for level, times in (("info", 0), ("debug", 1)):
        faulty.script(error(503, "busy", headers={"Retry-After": "0"}), said("[]"))
        told = calipers(*asking, "--ledger", f"{level}.db", CALIPERS_LOG_LEVEL=level, CALIPERS_FORCE="1").err
        assert len(retry.findall(told)) == times, told


def test_an_unknown_level_is_refused_with_those_that_there_are(calipers: Calipers):
    words = "'loud' is not one of 'debug', 'info', 'warning', 'error'"
    assert mismatches(calipers, [(("--log-level", "loud", "score", "groups.jsonl"), words)]) == []


def test_an_interrupted_import_is_no_traceback(monkeypatch: pytest.MonkeyPatch):
    class Interrupted(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "calipers.cli", Interrupted("calipers.cli"))
    with pytest.raises(SystemExit) as interrupted:
        main()
    assert interrupted.value.code == 130
