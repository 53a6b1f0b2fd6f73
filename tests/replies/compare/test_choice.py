"""extract_choice reads what a careful reader would, and abstains where that reader would not be sure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.compare.choice import extract_choice
from effort import at_most

ZOO = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "fixtures" / "choices.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("row", ZOO, ids=[row["id"] for row in ZOO])
def test_every_reply_of_the_zoo_is_read_as_a_careful_reader_would(row: dict[str, Any]) -> None:
    reading = extract_choice(row["text"], row["labels"], tie=row["tie"])
    assert reading.choice == row["choice"], reading
    assert (reading.outcome == "rejected") == (reading.choice is None)
    assert reading.choice is not None or reading.reason


def test_labels_come_back_as_they_were_given() -> None:
    """Integers are matched as their text and returned as integers."""
    assert extract_choice("Winner: 2", [1, 2]).choice == 2
    assert extract_choice("Model b is better.", ["Model A", "Model B"]).choice == "Model B"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("[[A]]", "strict"),
        ("Choice: A", "strict"),
        ("A", "strict"),
        ('{"winner": "A"}', "strict"),
        ("Winner: B\nCorrection: I mixed them up. Winner: A", "repaired"),
        ("Overall, Response A is better.", "text"),
        ("8 7", "text"),
    ],
)
def test_the_outcome_tells_how_plainly_it_was_said(text: str, outcome: str) -> None:
    reading = extract_choice(text, ["A", "B"])
    assert (reading.choice, reading.outcome) == ("A", outcome)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("<think>[[A]]", "reasoning never ended"),
        ("I'm sorry, but I can't compare these.", "declined"),
        ("[[A]] [[B]]", "contradict"),
        ("Both are equally good.", "no tie was on offer"),
        ("Neither is better than the other one.", "none better"),
        ("Response A talks about rivers.", "no preference"),
        ("Therefore, Response A is better.\n\n[[B]]", "different labels"),
    ],
)
def test_abstaining_says_why(text: str, why: str) -> None:
    reading = extract_choice(text, ["A", "B"])
    assert reading.choice is None
    assert why in (reading.reason or "")


def test_a_tie_label_may_also_stand_among_the_labels() -> None:
    assert extract_choice("[[C]]", ["A", "B", "C"], tie="C").choice == "tie"
    assert extract_choice("[[C]]", ["A", "B", "C"]).choice == "C"


def test_one_label_is_no_choice() -> None:
    assert extract_choice("[[A]]", ["A"]).choice is None
    assert extract_choice("[[A]]", []).choice is None


def test_a_long_json_reply_is_read_whole() -> None:
    text = json.dumps({"winner": "B", "why": "x" * 200_000})
    assert extract_choice(text, ["A", "B"]).choice == "B"


@pytest.mark.parametrize(
    "unit", ["A > ", "[[A", "Output (a) is ", "*", "(", '"a b c d" ', "1. [1]\n", "```\n", "winner is A "]
)
def test_repetition_loops_cost_bounded_time(unit: str) -> None:
    """What grows faster than the text takes minutes here."""
    text = unit * (1_000_000 // len(unit))
    at_most(100, lambda: extract_choice(text, ["A", "B"], tie="C"))


PIECES = st.sampled_from(
    [
        "[[A]]",
        "[[B]]",
        "Output (a) ",
        "is better",
        " not ",
        "Therefore, ",
        "if ",
        "\n",
        "```",
        '"',
        "{",
        "}",
        "Choice: A",
        "8 7",
        "<think>",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join)))
def test_no_text_raises_and_no_label_is_invented(text: str) -> None:
    assert extract_choice(text, ["A", "B"], tie="C").choice in ("A", "B", "tie", None)
    assert extract_choice(text, ["a", "b"]).choice in ("a", "b", "tie", None)


@given(st.lists(st.text(max_size=8), min_size=2, max_size=4, unique=True), st.text(max_size=80))
def test_no_labels_raise(labels: list[str], text: str) -> None:
    assert extract_choice(text, labels).choice in (*labels, "tie", None)


@given(
    st.sampled_from(["A", "B"]),
    st.sampled_from(["[[{}]]", "Choice: {}", "\\boxed{{{}}}", "[RESULT] {}", "<answer>{}</answer>", "{}"]),
)
def test_swapping_the_labels_swaps_the_choice(label: str, form: str) -> None:
    text = f"One of them is shorter.\n{form.format(label)}"
    assert extract_choice(text, ["A", "B"]).choice == label
    assert extract_choice(text, ["B", "A"]).choice == label


@pytest.mark.parametrize(("line", "choice"), [(99, None), (100, "A"), (149, "A"), (150, None)])
def test_a_label_alone_on_a_line_contradicts_another_near_either_end(line: int, choice: str | None) -> None:
    """Of endless lines only a hundred at each end are matched, so that a repetition loop costs bounded time."""
    lines = ["A", *["Both were read."] * 249]
    lines[line] = "B"
    assert extract_choice("\n".join(lines), ["A", "B"]).choice == choice
