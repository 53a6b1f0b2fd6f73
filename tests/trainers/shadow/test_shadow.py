"""Shadow mode leaves today's rewards as they are, whatever the judge does, and records what it would have said."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import pickle
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from art_judges import ContentJudge
from calipers import Judge
from calipers.cli import app
from calipers.errors import ConfigError, InputError
from calipers.interfaces import FullBackend
from calipers.ledger import read_ledger
from calipers.testing import SimulatedJudge
from calipers.trainers.shadow import Shadow
from calipers.trainers.shadow.comparison import advantages, compare, read_shadow
from calipers.trainers.shadow.trl import shadowed
from calipers.types import Completion, JudgeRequest
from groups import group_of

TEXTS = ["worth 10", "worth 90", "worth 40", "worth 20"]


def lengths(prompts: list[str], completions: list[str], **_: Any) -> list[float]:
    return [float(len(one)) for one in completions]


async def lengths_later(prompts: list[str], completions: list[str], **_: Any) -> list[float]:
    await asyncio.sleep(0)
    return lengths(prompts, completions)


def given(texts: list[str] = TEXTS, **more: Any) -> dict[str, Any]:
    return {"prompts": ["q"] * len(texts), "completions": texts, "completion_ids": [[1]] * len(texts), **more}


def records(folder: Path) -> list[dict[str, Any]]:
    return sorted(read_shadow([folder]), key=lambda row: int(row["number"]))


# --- in TRL ---------------------------------------------------------------------------------------------------------


def test_todays_rewards_are_returned_as_they_are_and_the_judges_are_recorded(tmp_path: Path):
    shadow = Shadow(Judge(ContentJudge()), tmp_path)
    reward = shadowed(lengths, shadow, num_generations=2)
    assert reward.__name__ == "lengths"
    assert reward(**given(trainer_state=SimpleNamespace(global_step=7))) == [8.0] * 4
    assert shadow.close() == 0
    first, second = records(tmp_path)
    assert (first["today"], first["judge"], first["step"]) == ([8.0, 8.0], [0.1, 0.9], 7)
    assert second["judge"] == [0.4, 0.2]
    assert second["group_id"] == "step 7, rows 3-4"


def test_a_function_that_trl_awaits_stays_one(tmp_path: Path):
    shadow = Shadow(Judge(ContentJudge()), tmp_path)
    reward = shadowed(lengths_later, shadow, num_generations=4)
    assert inspect.iscoroutinefunction(reward.__call__)  # type: ignore[operator]  # it is an object
    assert asyncio.run(reward(**given())) == [8.0] * 4
    shadow.close()
    assert records(tmp_path)[0]["judge"] == [0.1, 0.9, 0.4, 0.2]


def test_a_judge_by_name_has_a_ledger_beside_its_records(tmp_path: Path):
    made = Shadow("embedded", tmp_path)
    shadowed(lengths, made, num_generations=4)(**given())
    assert made.close() == 0
    (ledger,) = tmp_path.glob("*.ledger.db")
    with read_ledger(ledger) as reader:
        assert len(reader.rows("SELECT key FROM answers")) == 1
    assert None not in records(tmp_path)[0]["judge"]


class Stuck(FullBackend):
    """A judge that answers nothing until it is let go."""

    endpoint, model = "stuck", "stuck"

    def __init__(self) -> None:
        self.go = threading.Event()

    async def complete(self, request: JudgeRequest) -> Completion:
        await asyncio.to_thread(self.go.wait, 60)
        raise RuntimeError("it was let go, and has no opinion")


def test_a_judge_that_hangs_delays_nothing_and_what_waits_is_bounded(tmp_path: Path):
    judge = Stuck()
    shadow = Shadow(Judge(judge), tmp_path, most=2)
    reward = shadowed(lengths, shadow, num_generations=2)
    for _ in range(3):
        assert reward(**given()) == [8.0] * 4
    assert shadow.close(seconds=0.0) == 2
    judge.go.set()
    assert shadow.close() == 0
    found = compare(read_shadow([tmp_path]))
    assert (found.groups, found.left_out, found.unfinished) == (2, 4, 0)
    assert found.lost == {"the judge's backend raised RuntimeError: it was let go, and has no opinion": 2}
    assert (found.signal_judge, found.correlation) == (0, None)


@pytest.mark.parametrize(
    "broken",
    [
        {"completions": TEXTS[:3]},
        {"prompts": ["q", "other", "q", "q"]},
        {"prompts": [object()] * 4},
        {"rubric": [{"no": "rubric"}] * 4},
    ],
)
def test_what_cannot_be_judged_is_one_line_in_the_log(
    broken: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    shadow = Shadow(Judge(ContentJudge()), tmp_path)
    reward = shadowed(lengths, shadow, num_generations=2)
    call = {**given(trainer_state=SimpleNamespace(global_step=1)), **broken}
    for _ in range(2):
        assert reward(**call) == [8.0] * len(call["completions"])
    assert [line.name for line in caplog.records] == ["calipers.trainers.shadow.recording"]


def test_a_folder_that_cannot_be_written_costs_no_reward(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "file").write_text("in the way")
    shadow = Shadow(Judge(ContentJudge()), tmp_path / "file")
    assert shadowed(lengths, shadow, num_generations=4)(**given()) == [8.0] * 4
    shadow.close()
    assert "could not be recorded" in caplog.text


def test_an_error_of_todays_function_is_still_its_own(tmp_path: Path):
    def breaks(**_: Any) -> list[float]:
        raise ZeroDivisionError("today's")

    reward = shadowed(breaks, Shadow(Judge(ContentJudge()), tmp_path), num_generations=4)
    with pytest.raises(ZeroDivisionError, match="today's"):
        reward(**given())
    assert list(tmp_path.iterdir()) == []


def test_it_can_be_sent_to_another_process_unless_its_judge_cannot(tmp_path: Path):
    reward = shadowed(lengths, Shadow("embedded", tmp_path), num_generations=4)
    copy = pickle.loads(pickle.dumps(reward))  # noqa: S301 - our own
    assert copy(**given()) == [8.0] * 4
    assert copy._shadow.close() == 0
    assert len(records(tmp_path)) == 1
    with pytest.raises(ConfigError, match="cannot be sent to another process"):
        pickle.dumps(shadowed(lengths, Shadow(Judge("embedded"), tmp_path), num_generations=4))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"judge": "no such"}, "not a judge name"), ({"most": 0}, "most=0"), ({"judge": 3}, "judge=3")],
)
def test_settings_that_cannot_work_are_refused_where_they_stand(wrong: dict[str, Any], words: str, tmp_path: Path):
    with pytest.raises(ConfigError, match=words):
        Shadow(**{"judge": "embedded", "out": tmp_path, **wrong})


# --- what the records say -------------------------------------------------------------------------------------------


def row(number: int, today: list[float | None], judge: list[float | None], **more: Any) -> dict[str, Any]:
    return {"number": number, "left_out": 0, "status": "scored", "today": today, "judge": judge, **more}


def test_advantages_are_those_of_the_rewards_that_are_there():
    assert advantages([1.0, 0.0, None]) == pytest.approx([math.sqrt(0.5) / (1 + 1e-4 / math.sqrt(0.5)), -0.70700679, 0])
    assert advantages([1.0, 0.0, None], divided=False) == [0.5, -0.5, 0.0]
    assert advantages([0.3, 0.3, 0.3]) == [0.0, 0.0, 0.0]
    assert advantages([0.3, None]) == [0.0, 0.0]


def test_the_comparison_by_hand():
    rows = [
        row(1, [1.0, 0.0], [0.9, 0.1], calls=1, seconds=2.0),  # the same
        row(2, [1.0, 0.0], [0.2, 0.4], calls=2, seconds=4.0),  # turned around
        row(3, [1.0, 1.0], [0.2, 0.4]),  # no signal today
        row(4, [1.0, 0.0], [0.5, 0.5]),  # none from the judge
        row(5, [1.0, 0.0], [None, 0.5], reason="cut off", status="partial"),  # lost
    ]
    found = compare(rows, divided=False)
    assert (found.groups, found.signal_today, found.signal_judge, found.signal_both) == (5, 4, 3, 2)
    assert found.lost == {"cut off": 1}
    # (0.5 · 0.4 - 0.5 · 0.1) · 2 / sqrt((4 · 0.25) · 2 · (0.16 + 0.01))
    assert found.correlation == pytest.approx(0.3 / math.sqrt(0.34))
    assert (found.flips, found.large_flips, found.same_best) == (0.5, None, 0.5)
    assert (found.calls, found.seconds) == (3, 1.2)
    assert compare(rows).correlation == pytest.approx(0.0, abs=1e-3)  # divided, both groups weigh alike


def test_the_interval_is_of_groups_and_the_same_each_time():
    rows = [row(n, [1.0, 0.0, 0.5], [0.9, 0.1, 0.5] if n % 4 else [0.1, 0.9, 0.5]) for n in range(40)]
    found = compare(rows)
    assert found == compare(rows)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high
    assert found.low > 0.0


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps(row(n, [1.0, 0.0], [0.9, 0.1])) + "\n" for n in (1, 2, 4)))
    assert app.main(["shadow", str(tmp_path)], standalone_mode=False) == 0
    out = capsys.readouterr().out
    assert "1 unfinished" in out
    assert "correlation              +1.00" in out
    assert "sign flips               0.0% of rollouts" in out
    assert app.main(["shadow", str(file), "--json", "--centred"], standalone_mode=False) == 0
    assert json.loads(capsys.readouterr().out)["signal_both"] == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"number": 1}\n', r"a\.jsonl:1: is no record"),
        ('{"number": 1, "today": [1], "judge": [1, 2]}\n', "is no record"),
        ('{"number": 1, "today": [NaN], "judge": [1]}\n', "is no record"),
        ('{"number": 1, "today": [1], "jud\n', r"a\.jsonl:1: is no JSON: remove the line"),
        ("[" * 100_000 + "\n", "is no JSON"),
        ('{"number": 1, "today": [1e400], "judge": [1]}\n', "is no record"),
        ('{"number": 1, "today": [1' + "0" * 400 + '], "judge": [1]}\n', "is no record"),
        ('{"number": 1, "today": [true], "judge": [1]}\n', "is no record"),
        ('{"number": 1, "today": [1], "judge": [1], "calls": null}\n', "is no record"),
        ('{"number": 1, "today": [1], "judge": [1], "seconds": "2"}\n', "is no record"),
    ],
)
def test_records_that_cannot_be_read_are_named(text: str, words: str, tmp_path: Path):
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(InputError, match=words):
        list(read_shadow([tmp_path]))
    with pytest.raises(InputError, match="holds no shadow records"):
        list(read_shadow([_empty(tmp_path)]))


def test_a_last_line_that_was_cut_off_is_skipped_with_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    whole = json.dumps(row(1, [1.0, 0.0], [0.9, 0.1], reason="a\u2028b\x85c"), ensure_ascii=False) + "\n"
    data = (whole + whole.replace('"number": 1', '"number": 2')).encode()
    for cut in range(len(whole.encode()) + 1, len(data) - 1):
        (tmp_path / "a.jsonl").write_bytes(data[:cut])
        notes: list[InputError] = []
        assert [one["number"] for one in read_shadow([tmp_path], on_skipped=notes.append)] == [1]
        assert [str(one) for one in notes] == [f"{tmp_path}/a.jsonl:2: is cut off, as of a process that was killed"]
    assert app.main(["shadow", str(tmp_path)], standalone_mode=False) == 0
    told = capsys.readouterr()
    assert "signal in both           1" in told.out
    assert "a.jsonl:2: is cut off, as of a process that was killed; it is not counted" in told.err


def test_a_bad_line_in_the_middle_is_skipped_counted_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    good = [json.dumps(row(number, [1.0, 0.0], [0.9, 0.1])) for number in (1, 3)]
    (tmp_path / "a.jsonl").write_text(
        "\n".join([good[0], json.dumps(row(2, [1.0, 2.0], [0.1] * 3)), "{", good[1]]) + "\n"
    )
    assert app.main(["shadow", str(tmp_path), "--json"], standalone_mode=False) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert (found["groups"], found["unreadable"]) == (2, 2)
    assert "a.jsonl:2: is no record of a shadow run: 'today' has 2 rewards and 'judge' 3; it is not counted" in told.err
    assert "a.jsonl:3: is no JSON" in told.err
    assert app.main(["shadow", str(tmp_path)], standalone_mode=False) == 0
    assert "unreadable             2 lines of the records" in capsys.readouterr().out


def test_a_file_of_which_no_line_is_a_record_is_refused(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"number": 1}\n[]\n')
    with pytest.raises(InputError, match=r"a\.jsonl:1: is no record of a shadow run: it needs"):
        app.main(["shadow", str(tmp_path)], standalone_mode=False)


@pytest.mark.parametrize("rewards", [[1, 2], [1, 2, 3, 4], []])
def test_a_group_with_another_number_of_rewards_is_one_failure_and_not_judged(
    rewards: list[float], tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    judge = ContentJudge()
    shadow = Shadow(Judge(judge), tmp_path)
    group = group_of({"a": "worth 10", "b": "worth 70", "c": "worth 20"})
    shadow.submit(lambda: [(group, rewards), (group, [3, 1, 2])])
    assert shadow.close() == 0
    first, second = records(tmp_path)
    told = f"{len(rewards)} rewards for a group of 3"
    assert (first["today"], first["judge"], first["status"], first["reason"]) == ([], [], "failed", told)
    assert second["judge"] == [0.1, 0.7, 0.2]
    found = compare([first, second])
    assert (found.groups, dict(found.lost), found.unfinished) == (2, {told: 1}, 0)
    assert told in caplog.text


def test_a_judge_that_would_end_the_process_ends_no_shadow(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def ends(*_: object) -> float:
        raise SystemExit("code 3")

    shadow = Shadow(Judge(SimulatedJudge(ends)), tmp_path)
    group = group_of({"a": "worth 10", "b": "worth 70"})
    for _ in range(2):
        shadow.submit(lambda: [(group, [3, 1])])
        assert shadow.close(5) == 0
    assert "SystemExit: code 3" in caplog.text


def test_a_file_that_is_named_twice_counts_once(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text(json.dumps(row(1, [1.0, 0.0], [0.9, 0.1])) + "\n")
    assert len(list(read_shadow([tmp_path, tmp_path / "a.jsonl", f"{tmp_path}/../{tmp_path.name}"]))) == 1


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e307, 1.7e308])
@pytest.mark.parametrize("divided", [True, False])
def test_rewards_of_any_size_are_compared(size: float, *, divided: bool):
    rows = [row(n, [size, 0.0, -size], [0.9, 0.5, 0.1] if n % 4 else [0.1, 0.5, 0.9]) for n in range(8)]
    found = compare(rows, divided=divided)
    assert (found.signal_both, found.flips, found.same_best) == (8, 0.25, 0.75)
    assert found.correlation == pytest.approx(0.5)
    turned = compare([{**one, "today": one["judge"], "judge": one["today"]} for one in rows], divided=divided)
    assert turned.correlation == pytest.approx(0.5)


def test_noise_of_rounding_is_no_signal_and_no_flip():
    assert advantages([0.1 + 0.2, 0.3, 0.3]) == [0.0, 0.0, 0.0]
    assert advantages([0.1, 0.2, 0.3])[1] == 0.0  # the mean is 0.20000000000000004
    rows = [row(1, [0.1, 0.2, 0.3], [0.3, 0.6 + 1e-16, 0.9]), row(2, [0.1, 0.2, 0.3], [0.1, 0.3, 0.2])]
    found = compare(rows)
    assert found.flips == 0.0
    assert found.same_best == 0.5
    assert compare([row(1, [0.1 + 0.2, 0.3, 0.1], [0.1, 0.9, 0.1])]).same_best == 1.0


def test_a_process_with_the_number_of_an_earlier_one_has_files_of_its_own(tmp_path: Path):
    for _ in range(2):
        shadow = Shadow("embedded", tmp_path)
        shadow.submit(lambda: [(group_of({"a": "x\ud800", "b": "y"}), [10**400, 1.0])])
        assert shadow.close() == 0
    assert [len(list(tmp_path.glob(end))) for end in ("*.jsonl", "*.ledger.db")] == [2, 2]
    assert [one["today"] for one in records(tmp_path)] == [[None, 1.0]] * 2


def _empty(folder: Path) -> Path:
    made = folder / "empty"
    made.mkdir()
    return made


def test_a_group_in_any_form_of_its_own_may_be_submitted(tmp_path: Path):
    shadow = Shadow(Judge(ContentJudge()), tmp_path)
    shadow.submit(lambda: [(group_of({"a": "worth 10", "b": "worth 70"}), [1, math.nan])])
    shadow.close()
    (line,) = records(tmp_path)
    assert (line["today"], line["judge"]) == ([1.0, None], [0.1, 0.7])
