"""Slips write well-formed replies that say the wrong thing, in the stated share."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import near_share, question, request
from calipers.testing import OffScale, PermutedIds, ReorderedRows, Row, Slip, write_scores
from calipers.testing.slips import honest_rows

KEYS = ("KQ", "XW", "ZV", "JB")
ROWS = honest_rows(KEYS, [0.0, 0.25, 0.5, 1.0])


def slipped(slip: Slip, count: int) -> list[list[Row]]:
    """The rows in questions that differ in their sample number."""
    return [slip.slip(ROWS, question(request(sample=sample))) for sample in range(count)]


@given(st.lists(st.floats(-2, 3), min_size=1, max_size=8))
def test_honest_scores_are_whole_numbers_on_0_to_100(opinions: list[float]) -> None:
    rows = honest_rows([f"K{place}" for place in range(len(opinions))], opinions)
    for row, opinion in zip(rows, opinions, strict=True):
        assert isinstance(row.score, int)
        assert row.value == min(1.0, max(0.0, opinion))
        assert abs(row.score - 100 * row.value) <= 0.5


def test_the_reply_is_keyed_in_the_order_of_the_rows_escaped_and_has_a_key_twice_that_comes_twice() -> None:
    rows = [Row("KQ", 0.0, 0, "ü"), Row('K"', 0.5, 50, 'so "good"\n'), Row('K"', 0.5, 60, "well")]
    assert json.loads(write_scores(rows, request()), object_pairs_hook=list) == [
        ("explanations", [("KQ", "ü"), ('K"', 'so "good"\n'), ('K"', "well")]),
        ("scores", [("KQ", 0), ('K"', 50), ('K"', 60)]),
    ]
    assert all(row.explanation for row in ROWS)


@pytest.mark.parametrize(("slip", "scores"), [
    (OffScale((0, 1)), [0.0, 0.25, 0.5, 1.0]), (OffScale((0, 10)), [0, 2, 5, 10]),
    (OffScale((1, 5)), [1, 2, 3, 5]),
    (OffScale((0, 150)), [0, 38, 75, 150]), (OffScale((-100, 100)), [-100, -50, 0, 100]),
])  # fmt: skip
def test_off_scale_scores_are_linear_on_the_stated_scale(slip: OffScale, scores: list[float]) -> None:
    written = [row.score for row in slip.slip(ROWS, question())]
    assert written == scores
    assert [type(score) for score in written] == [type(score) for score in scores]


def test_off_scale_replies_come_in_the_stated_share_whole_or_row_by_row() -> None:
    sums = Counter(sum(row.score for row in rows) for rows in slipped(OffScale((0, 10), share=0.3), 1000))
    assert set(sums) == {17, 175}
    assert near_share(sums[17], 1000, 0.3)
    drawn = slipped(OffScale((0, 10), share=0.3, per="row"), 1000)
    assert near_share(sum(rows[3].score == 10 for rows in drawn), 1000, 0.3)
    assert any(rows[1].score == 2 and rows[3].score == 100 for rows in drawn)


def test_permuted_ids_leave_no_candidate_its_own_score_lose_none_and_are_drawn_evenly() -> None:
    drawn = slipped(PermutedIds(), 1200)
    assert {tuple(row.key for row in rows) for rows in drawn} == {KEYS}
    orders = Counter(tuple(row.score for row in rows) for rows in drawn)
    assert len(orders) == 6  # the cycles of length four
    assert all(sorted(order) == [0, 25, 50, 100] for order in orders)
    assert all(new != old.score for order in orders for new, old in zip(order, ROWS, strict=True))
    assert all(near_share(count, 1200, 1 / 6) for count in orders.values())
    assert near_share(slipped(PermutedIds(share=0.2), 1000).count(ROWS), 1000, 0.8)
    assert PermutedIds().slip(ROWS[:1], question()) == ROWS[:1]


def test_reordered_rows_say_the_same_of_every_id_in_reverse_or_in_every_order() -> None:
    assert ReorderedRows().slip(ROWS, question()) == ROWS[::-1]
    drawn = slipped(ReorderedRows("shuffled", share=0.5), 1200)
    assert all(set(rows) == set(ROWS) for rows in drawn)
    assert len({tuple(row.key for row in rows) for rows in drawn}) == 24
    assert near_share(drawn.count(ROWS), 1200, 0.5 + 0.5 / 24)
