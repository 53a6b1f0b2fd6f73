"""Slips write well-formed replies that say the wrong thing, in the stated share."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import question, request
from calipers.testing import OffScale, PermutedIds, ReorderedRows, Row, write_scores
from calipers.testing.slips import honest_rows

KEYS = ("KQ", "XW", "ZV", "JB")
ROWS = honest_rows(KEYS, [0.0, 0.25, 0.5, 1.0])


def four_sigma(share: float, count: int) -> float:
    return 4 * math.sqrt(share * (1 - share) / count)


@given(st.lists(st.floats(-2, 3), min_size=1, max_size=8))
def test_honest_scores_are_whole_numbers_on_0_to_100(opinions: list[float]) -> None:
    rows = honest_rows([f"K{place}" for place in range(len(opinions))], opinions)
    for row, opinion in zip(rows, opinions, strict=True):
        assert isinstance(row.score, int)
        assert row.value == min(1.0, max(0.0, opinion))
        assert abs(row.score - 100 * row.value) <= 0.5


def test_the_reply_has_explanations_and_scores_keyed_in_the_order_of_the_rows() -> None:
    reply = json.loads(write_scores(ROWS, request()))
    assert reply["scores"] == {"KQ": 0, "XW": 25, "ZV": 50, "JB": 100}
    assert list(reply) == ["explanations", "scores"]
    assert list(reply["explanations"]) == list(KEYS)
    assert all(reply["explanations"].values())


def test_hostile_text_is_escaped_and_a_key_given_twice_is_written_twice() -> None:
    rows = [Row('K"', 0.5, 50, 'so "good"\n'), Row('K"', 0.5, 60, "ü")]
    pairs = json.loads(write_scores(rows, request()), object_pairs_hook=list)
    assert pairs == [
        ("explanations", [('K"', 'so "good"\n'), ('K"', "ü")]),
        ("scores", [('K"', 50), ('K"', 60)]),
    ]


@pytest.mark.parametrize(
    ("slip", "scores"),
    [
        (OffScale((0, 1)), [0.0, 0.25, 0.5, 1.0]),
        (OffScale((0, 10)), [0, 2, 5, 10]),
        (OffScale((0, 10), step=0.5), [0.0, 2.5, 5.0, 10.0]),
        (OffScale((1, 5)), [1, 2, 3, 5]),
        (OffScale((0, 150)), [0, 38, 75, 150]),
        (OffScale((-100, 100)), [-100, -50, 0, 100]),
    ],
)
def test_off_scale_scores_are_linear_on_the_stated_scale(slip: OffScale, scores: list[float]) -> None:
    written = [row.score for row in slip.slip(ROWS, question())]
    assert written == scores
    assert [type(score) for score in written] == [type(score) for score in scores]


def test_off_scale_replies_come_in_the_stated_share_and_whole() -> None:
    slip = OffScale((0, 10), share=0.3)
    sums = Counter(sum(row.score for row in slip.slip(ROWS, question(request(sample=k)))) for k in range(1000))
    assert set(sums) == {17, 175}
    assert abs(sums[17] / 1000 - 0.3) < four_sigma(0.3, 1000)


def test_off_scale_rows_are_drawn_one_by_one() -> None:
    slip = OffScale((0, 10), share=0.3, per="row")
    last = [[row.score == 10 for row in slip.slip(ROWS, question(request(sample=k)))][-1] for k in range(1000)]
    assert abs(sum(last) / 1000 - 0.3) < four_sigma(0.3, 1000)
    mixed = [slip.slip(ROWS, question(request(sample=k))) for k in range(50)]
    assert any(rows[1].score == 2 and rows[3].score == 100 for rows in mixed)


def test_permuted_ids_leave_no_candidate_its_own_score_and_lose_none() -> None:
    for sample in range(200):
        rows = PermutedIds().slip(ROWS, question(request(sample=sample)))
        assert [row.key for row in rows] == list(KEYS)
        assert sorted(row.score for row in rows) == [0, 25, 50, 100]
        assert all(new.score != old.score for new, old in zip(rows, ROWS, strict=True))


def test_permutations_of_ids_are_drawn_evenly() -> None:
    drawn = Counter(
        tuple(row.score for row in PermutedIds().slip(ROWS, question(request(sample=k)))) for k in range(1200)
    )
    assert len(drawn) == 6  # the cycles of length four
    assert all(abs(count - 200) < 4 * (1200 * (1 / 6) * (5 / 6)) ** 0.5 for count in drawn.values())


def test_ids_are_permuted_in_the_stated_share() -> None:
    slip = PermutedIds(share=0.2)
    kept = sum(slip.slip(ROWS, question(request(sample=k))) == ROWS for k in range(1000))
    assert abs(kept / 1000 - 0.8) < four_sigma(0.2, 1000)


def test_one_row_cannot_be_permuted() -> None:
    assert PermutedIds().slip(ROWS[:1], question()) == ROWS[:1]


def test_reversed_rows_say_the_same_of_every_id() -> None:
    rows = ReorderedRows().slip(ROWS, question())
    assert [row.key for row in rows] == list(reversed(KEYS))
    assert set(rows) == set(ROWS)


def test_shuffled_rows_take_every_order() -> None:
    slip = ReorderedRows("shuffled", share=0.5)
    orders = Counter(tuple(row.key for row in slip.slip(ROWS, question(request(sample=k)))) for k in range(1200))
    assert len(orders) == 24
    expected = 0.5 + 0.5 / 24
    assert abs(orders[KEYS] / 1200 - expected) < four_sigma(expected, 1200)
