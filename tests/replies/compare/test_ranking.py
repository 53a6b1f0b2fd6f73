"""extract_ranking reads orders that are written down, and nothing that only looks like one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.compare.ranking import extract_ranking
from effort import at_most

ZOO = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "fixtures" / "rankings.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("row", ZOO, ids=[row["id"] for row in ZOO])
def test_every_reply_of_the_zoo_is_read_as_a_careful_reader_would(row: dict[str, Any]) -> None:
    reading = extract_ranking(row["text"], row["ids"])
    assert list(reading.ranking) == (row["ranking"] or []), reading
    assert sorted([*reading.ranking, *reading.missing]) == sorted(row["ids"])
    assert list(reading.dropped) == row.get("dropped", list(reading.dropped))
    assert (reading.outcome == "rejected") == (not reading.ranking)
    assert reading.ranking or reading.reason


def test_first_mention_counts_and_what_was_dropped_is_told() -> None:
    reading = extract_ranking("[2] > [9] > [1] > [2]", ["1", "2", "3"])
    assert reading.ranking == ("2", "1")
    assert reading.dropped == ("9", "2")
    assert reading.missing == ("3",)
    assert reading.outcome == "partial"
    assert reading.reason == "1 of 3 ids are not named; 2 repeated or foreign names were dropped"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("[2] > [1]", "strict"),
        ("[2, 1]", "strict"),
        ("[2] > [1] > [2]", "repaired"),
        ("The order is:\n[2] > [1]", "text"),
        ("1. [2]\n2. [1]", "text"),
        ("tied: [2] = [1]", "rejected"),
    ],
)
def test_the_outcome_tells_how_plainly_it_was_said(text: str, outcome: str) -> None:
    assert extract_ranking(text, ["1", "2"]).outcome == outcome


def test_ids_come_back_as_they_were_given() -> None:
    assert extract_ranking("[2] > [1]", [1, 2]).ranking == (2, 1)


def test_candidates_talked_through_in_order_are_no_ranking() -> None:
    text = (
        "1. Response 1 explains the tides with the moon and the sun.\n2. Response 2 names the moon and stops there, "
        "alas."
    )
    assert extract_ranking(text, ["1", "2"]).outcome == "rejected"


@given(
    st.permutations([str(number) for number in range(1, 13)]), st.sampled_from(["[{}]", "{}", "Passage {}", "**{}**"])
)
def test_a_written_order_reads_back_as_it_was_written(order: list[str], form: str) -> None:
    text = " > ".join(form.format(name) for name in order)
    reading = extract_ranking(text, [str(number) for number in range(1, 13)])
    assert list(reading.ranking) == order
    assert reading.outcome == "strict"


PIECES = st.sampled_from(
    ["[1]", "[2]", " > ", " = ", ", ", "1. ", "\n", "[", "]", "Passage 3", "99", "```", "ranking: ", "{", "}"]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=16).map("".join)))
def test_no_text_raises_and_ranking_and_missing_share_out_the_ids(text: str) -> None:
    ids = ["1", "2", "3"]
    reading = extract_ranking(text, ids)
    assert sorted([*reading.ranking, *reading.missing]) == ids


@given(st.lists(st.text(max_size=6), max_size=4, unique=True), st.text(max_size=60))
def test_no_ids_raise(ids: list[str], text: str) -> None:
    assert set(extract_ranking(text, ids).ranking) <= set(ids)


@pytest.mark.parametrize("unit", ["[1] > ", "1, ", "1. [1]\n", "*", "[", "```\n", "1 "])
def test_repetition_loops_cost_bounded_time(unit: str) -> None:
    """What grows faster than the text takes minutes here."""
    text = unit * (1_000_000 // len(unit))
    at_most(100, lambda: extract_ranking(text, [str(number) for number in range(1, 21)]))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"ranking": [2, 1, 3], "note": "best first", "order": "worst first"}', "not certain"),
        ('{"ranking": [2, 1, 3], "is_example": true}', "not certain"),
        ('{"ranking": [2, 1, 3]}\nScratch that, I mixed them up.', "take it back"),
        ('```json\n{"ranking": [2, 1, 3]}\n```\nScratch that, I mixed them up.', "not certain"),
        ('{"ranking": [2, 1, 3]}\nI chose at random.', "mean nothing"),
        ("Ranking:\n1. [2], [3]\n2. [1]", "no order"),
        ("Ranking:\n1. [2] and [3]\n2. [1]", "no order"),
        ("Ranking from worst to best: [2] > [1] > [3]\n\nFinal ranking: [2] > [3] > [1]", "not certain"),
    ],
)
def test_an_order_that_contradicts_itself_or_its_words_is_rejected(text: str, reason: str) -> None:
    found = extract_ranking(text, [1, 2, 3])
    assert found.ranking == ()
    assert re.search(reason, found.reason or "")


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ('{"ranking": [2, 1, 3]}', (2, 1, 3)),
        ('{"ranking": [2, 1, 3], "order": "worst first"}', (3, 1, 2)),
        ('{"ranking": [2, 1, 3], "order": "best first"}', (2, 1, 3)),
        ("Ranking:\n1. [2]\n2. [1]\n3. [3]", (2, 1, 3)),
        ("First thoughts: [1] > [2] > [3]\nFinal ranking: [2] > [3] > [1]", (2, 3, 1)),
    ],
)
def test_an_order_with_plain_words_around_it_is_read(text: str, order: tuple[int, ...]) -> None:
    assert extract_ranking(text, [1, 2, 3]).ranking == order
