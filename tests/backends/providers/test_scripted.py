"""The scripted judge: rows in, replies out, and bad rows named by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backends.asking import question
from calipers.backends.providers.scripted import Scripted
from calipers.errors import InputError, PermanentError, TransientError

ROW = {"scores": {"a": 90, "b": 20, "c": 30, "d": 40}}


async def test_scores_by_trajectory_are_written_as_the_reply_a_judge_gives() -> None:
    judge = Scripted([{"scores": {"a": 90, "b": 20, "zz": 5}, "explanations": {"b": "wörse"}}])
    completion = await judge.complete(question(order=(1, 0, 2, 3)))
    assert json.loads(completion.text) == {"explanations": {"BC": "wörse"}, "scores": {"DF": 90, "BC": 20}}
    assert completion.finish_reason == "stop"


async def test_identical_trajectories_share_a_key_and_absent_ones_are_passed_over() -> None:
    shown = question(ids=("a", "b", "c"), members=((0, 2), (1,)), order=(1, 0))
    both = await Scripted([{"text": "{{a}} {{c}} {{b}} {{zz}} {{}} {a}"}]).complete(shown)
    assert both.text == "DF DF BC {{zz}} {{}} {a}"
    part = await Scripted([ROW]).complete(question(order=(3,)))
    assert json.loads(part.text)["scores"] == {"BC": 40}


async def test_rows_answer_a_groups_asks_in_order_and_the_last_goes_on() -> None:
    judge = Scripted([{"text": "0"}, {"group_id": "g2", "text": "own"}, {"text": "1"}])
    assert [(await judge.complete(question(number=n))).text for n in range(4)] == ["0", "1", "1", "1"]
    assert (await judge.complete(question(group_id="g2", number=3))).text == "own"


async def test_errors_can_be_scripted_of_either_nature() -> None:
    judge = Scripted([{"error": {"kind": "rate_limited", "message": "slow", "retry_after": 2.0}},
                      {"error": {"kind": "refused"}}, {"error": {"kind": "server", "fatal": True}}])  # fmt: skip
    for number, kind, fatal in ((0, TransientError, None), (1, PermanentError, False), (2, PermanentError, True)):
        with pytest.raises(kind) as caught:
            await judge.complete(question(number=number))
        assert getattr(caught.value, "fatal", None) is fatal


async def test_a_file_is_read_line_by_line_with_blank_ones_between(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f'{json.dumps(ROW)}\n\n{{"group_id": "g9", "text": "x\u2028y"}}\n', encoding="utf-8")
    judge = Scripted(path)
    assert (await judge.complete(question(group_id="g9"))).text == "x\u2028y"
    assert judge.model.startswith("answers.jsonl@")
    assert judge.endpoint == "scripted"


def test_the_models_name_changes_with_the_script() -> None:
    assert Scripted([ROW]).model == Scripted([ROW]).model
    assert Scripted([ROW]).model != Scripted([{"text": "x"}]).model


BAD = {
    "{": "not JSON", "[]": "object", "{}": "exactly one", '{"text": "x", "scores": {}}': "exactly one",
    '{"text": "x", "scroes": {}}': "unknown keys", '{"text": 3}': "wrong type", '{"scores": []}': "wrong type",
    '{"group_id": 3, "text": ""}': "wrong type", '{"text": "", "finish_reason": "odd"}': "finish_reason",
    '{"text": "", "usage": {"tokens": 3}}': "usage", '{"error": "x"}': "error",
    '{"error": {"kind": "odd"}}': "error.kind", "[" * 100_000: "not JSON",
}  # fmt: skip


def test_bad_rows_are_named_by_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    for line, reason in BAD.items():
        path.write_text(f'{{"text": "fine"}}\n{line}\n')
        with pytest.raises(InputError, match=reason) as caught:
            Scripted(path)
        assert (caught.value.source, caught.value.line) == (str(path), 2)
    with pytest.raises(InputError, match="cannot be read"):
        Scripted(str(tmp_path / "none.jsonl"))
