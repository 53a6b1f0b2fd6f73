"""Rows with a chosen and a rejected answer are two candidates for one prompt, in all forms that trainers write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calipers.inputs import as_group
from inputs.foreign.written import read, said_in, written


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def reply(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


ASKED = {"conversations": [{"from": "human", "value": "q"}]}


@pytest.mark.parametrize(
    "row",
    [
        ASKED | {"chosen": {"from": "gpt", "value": "A"}, "rejected": {"from": "gpt", "value": "B"}},
        ASKED | {"chosen": [{"from": "gpt", "value": "A"}], "rejected": [{"from": "gpt", "value": "B"}]},
        ASKED | {"chosen": "A", "rejected": "B"},
        ASKED | {"chosen": [reply("A")], "rejected": "B"},
        {"messages": [user("q")], "chosen": reply("A"), "rejected": reply("B")},
        {"prompt": "q", "chosen": "A", "rejected": "B"},
        {"prompt": [user("q")], "chosen": [reply("A")], "rejected": [reply("B")]},
        {"prompt": "q", "chosen": [user("q"), reply("A")], "rejected": [user("q"), reply("B")]},
        {"chosen": [user("q"), reply("A")], "rejected": [user("q"), reply("B")]},
        {"instruction": "q", "input": "", "chosen": "A", "rejected": "B"},
        {"question": "q", "chosen": "A", "rejected": "B"},
    ],
)
def test_both_answers_are_read(row: dict[str, Any], tmp_path: Path):
    group = as_group(row)
    assert [[message["content"] for message in one.messages] for one in group.trajectories] == [["q", "A"], ["q", "B"]]
    assert [one.metadata["calipers_answer"] for one in group.trajectories] == ["chosen", "rejected"]
    (own,), problems = read(written(tmp_path / "rows.jsonl", row))
    assert (own.context, problems) == ((user("q"),), [])
    assert said_in([own]) == [[["q", "A"], ["q", "B"]]]


def test_an_answer_alone_is_read_too():
    (one,) = as_group(ASKED | {"chosen": "A"}).trajectories
    assert [message["content"] for message in one.messages] == ["q", "A"]


def test_system_history_and_input_are_part_of_the_prompt():
    row = {"instruction": "q", "input": "i", "system": "s", "history": [["h", "r"]], "chosen": "A", "rejected": "B"}
    first = as_group(row | {"margin": 2}).trajectories[0]
    assert [message["content"] for message in first.messages] == ["s", "h", "r", "q\ni", "A"]
    assert first.metadata == {"margin": 2, "calipers_answer": "chosen"}


def test_rows_that_differ_after_their_first_reply_are_groups_of_their_own(tmp_path: Path):
    shared = [user("q"), reply("r")]
    rows = [{"prompt": [*shared, user(text)], "chosen": f"A{text}", "rejected": f"B{text}"} for text in ("1", "2")]
    groups, _ = read(written(tmp_path / "rows.jsonl", *rows))
    assert said_in(groups) == [
        [["q", "r", "1", "A1"], ["q", "r", "1", "B1"]],
        [["q", "r", "2", "A2"], ["q", "r", "2", "B2"]],
    ]
    assert [len(group.context) for group in groups] == [3, 3]


def test_an_answer_of_another_type_is_a_problem_of_its_row(tmp_path: Path):
    rows = [ASKED | {"chosen": 5, "rejected": "B"}, ASKED | {"chosen": "A", "rejected": "B"}]
    groups, problems = read(written(tmp_path / "rows.jsonl", *rows))
    assert problems == [":1: 'chosen' is a number; write it as text, a message or a list of messages"]
    assert len(groups[0].trajectories) == 2


def test_text_with_turns_is_a_conversation(tmp_path: Path):
    asked = "\n\nHuman: What is a dog?\n\nAssistant: Why?\n\nHuman: Tell me."
    rows = [
        {"chosen": f"{asked}\n\nAssistant: An animal.", "rejected": f"{asked}\n\nAssistant: A car."},
        {"prompt": f"{asked}\n\nAssistant:", "chosen": " An animal.", "rejected": " A plant."},
        {"chosen": "\n\nHuman: 2+2?\n\nAssistant: 4", "rejected": "\n\nHuman: 2+2?\n\nAssistant: 5"},
    ]
    groups, problems = read(written(tmp_path / "t.jsonl", *rows))
    assert problems == []
    assert [[one["content"] for one in group.context] for group in groups] == [
        ["What is a dog?", "Why?", "Tell me."],
        ["2+2?"],
    ]
    assert [len(group.trajectories) for group in groups] == [4, 2]


def test_answers_to_two_prompts_are_a_bad_row_of_their_own(tmp_path: Path):
    rows = [
        {"chosen": [user("q4"), reply("x")], "rejected": [user("q5"), reply("y")]},
        {"chosen": [user("q"), reply("x")], "rejected": [user("q"), reply("y")]},
    ]
    groups, problems = read(written(tmp_path / "t.jsonl", *rows))
    assert len(groups) == 1
    assert "'chosen' and 'rejected' begin with different messages" in str(problems)


def test_a_rows_own_answer_stays_in_its_metadata(tmp_path: Path):
    rows = [{"prompt": "q", "chosen": "a", "rejected": "b", "answer": "gold"}]
    groups, _ = read(written(tmp_path / "t.jsonl", *rows))
    assert [one.metadata for one in groups[0].trajectories] == [
        {"answer": "gold", "calipers_answer": "chosen"},
        {"answer": "gold", "calipers_answer": "rejected"},
    ]


def test_the_reward_of_a_conversation_is_the_rollouts(tmp_path: Path):
    turns = [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]
    rows = [{"conversations": turns, "reward": 0.5}, {"conversations": turns, "reward": "bad"}]
    groups, problems = read(written(tmp_path / "t.jsonl", *rows))
    assert [one.reward for one in groups[0].trajectories] == [0.5]
    assert "'reward'" in str(problems)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (
            {"prompt": "q", "chosen": None, "rejected": "B"},
            "'chosen' is null; write it as text, a message or a list of messages",
        ),
        ({"prompt": None, "completion": "a"}, "'prompt' is null; write it as text, a message or a list of messages"),
        ({"messages": "user: q"}, "'messages' is text; write it as a list of objects"),
        ({"conversations": None}, "'conversations' is null; write it as a list of objects"),
        (
            {"prompt": "q", "chosen": None, "rejected": None},
            "'chosen' is null, and 'rejected' no answer either; write them as text, a message or a list of messages",
        ),
        ({"prompt": "q", "chosen": "A"}, "has 'chosen' and no 'rejected'; give both, or the answer as 'completion'"),
        (
            {"prompt": "q", "chosen": "A", "rejected": "B", "calipers_answer": "mine"},
            "has the key 'calipers_answer', which calipers writes; rename it",
        ),
    ],
)
def test_a_damaged_field_is_named(row: dict[str, Any], problem: str, tmp_path: Path):
    _, problems = read(written(tmp_path / "a.jsonl", row))
    assert len(problems) == 1
    assert problems[0].startswith(f":1: {problem}")
    good = {"prompt": "q", "chosen": "A", "rejected": "B"}
    groups, problems = read(written(tmp_path / "b.jsonl", good, row))
    assert (len(groups), problems) == (1, [f":2: {problem}"])
