"""Scales that stand beside a number, in a key, or under one: what is understood, and what is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calipers.replies.scores.found import UNCLEAR, UPSIDE_DOWN, StatedScale
from calipers.replies.scores.stated import attached_scale, described_scale, scale_of_key


def top(high: float) -> StatedScale:
    return StatedScale(0.0, high, both=False)


@pytest.mark.parametrize(
    "text",
    [
        "8/10", "8 / 10", "8 out of 10", "8 of 10", "8 (out of 10)", "8 (max 10)", "8 (max. 10 points)", "8 [/10]",
        "8, max 10",
        "8 points out of 10", "8 out of a possible 10", "8 von 10", "8 von maximal 10 Punkten", "8 sur 10",
        "8 (sur 10)",
        "8 de 10", "8 puntos sobre 10", "8 su 10", "8 van de 10", "8 из 10", "8 баллов из 10", "8 з 10", "8 na 10",
        "8 av 10",
        "8 trên 10", "8/10 điểm", "8 dari 10", "8 من 10", "٨ من ١٠", "10 üzerinden 8", "10 में से 8", "8分(满分10分)",
        "满分10分,得8分", "8点(10点満点)", "10点満点中8点", "10점 만점에 8점", "8점 (10점 만점)", "8 stars out of 10",
    ],
)  # fmt: skip
def test_a_number_with_its_top_is_understood_in_many_languages(text: str) -> None:
    found = attached_scale(text)
    assert found is not None
    assert found[:2] == (8.0, top(10.0))


@pytest.mark.parametrize(
    "text",
    ["4 (1-5)", "4 (scale 1-5)", "4 on a scale of 1 to 5", "4 (on a 1-5 scale)", "4 auf einer Skala von 1 bis 5"],
)
def test_a_number_with_both_ends_is_understood(text: str) -> None:
    found = attached_scale(text)
    assert found is not None
    assert found[:2] == (4.0, StatedScale(1.0, 5.0))


@pytest.mark.parametrize(
    "text", ["80 (75-85)", "7-8/10", "1,000/2,000", "9/10/2024", "8", "8 to 10", "80 (3 steps)", "4 stars"]
)
def test_intervals_dates_thousands_and_counts_are_no_scale(text: str) -> None:
    assert attached_scale(text) is None


@pytest.mark.parametrize(
    ("value", "scale"),
    [
        ("0-10", StatedScale(0, 10)), ("1 to 5", StatedScale(1, 5)), ("0–10", StatedScale(0, 10)), ("[0, 10]", UNCLEAR),
        ([1, 5], StatedScale(1, 5)),
        ("out of 10", top(10)), ("/10", top(10)), (10, top(10)), ("10", top(10)), ("10-point scale", top(10)),
        ("满分10分", top(10)),
        ({"min": 0, "max": 10}, StatedScale(0, 10)), ({"from": "1", "to": "7"}, StatedScale(1, 7)),
        ({"1": "bad", "5": "good"}, StatedScale(1, 5)),
        ("0 (worst) to 10 (best)", StatedScale(0, 10)), ("0 = poor, 10 = excellent", StatedScale(0, 10)),
        ("integer from 1 to 5", StatedScale(1, 5)),
        ("percent", StatedScale(0, 100)), ("0-10, higher is better", StatedScale(0, 10)),
        ("1 bis 6", StatedScale(1, 6)), ("от 1 до 5", StatedScale(1, 5)),
        ("1 (best) to 6 (worst)", UPSIDE_DOWN), ("1 = excellent, 6 = poor", UPSIDE_DOWN),
        ("1-6, lower is better", UPSIDE_DOWN),
        ("1-6, where 1 is best", UPSIDE_DOWN), ([5, 1], UPSIDE_DOWN), ({"1": "best", "5": "worst"}, UPSIDE_DOWN),
        ("1 (sehr gut) bis 6 (ungenügend)", UPSIDE_DOWN), ("1到5，1分最好", UPSIDE_DOWN), (37, UNCLEAR),
        ({"points": 5}, UNCLEAR),
        ("3 kinds: 1, 2 or 7", UNCLEAR), ("low to high", None), ("linear", None), (True, None), (None, None),
        ([], None),
    ],
)  # fmt: skip
def test_a_described_scale_is_itself_upside_down_unclear_or_none(value: Any, scale: object) -> None:
    assert described_scale(value) == scale


@pytest.mark.parametrize(
    ("key", "base", "scale"),
    [
        ("score_out_of_10", "score", top(10)), ("Score (/10)", "Score", top(10)), ("score/10", "score", top(10)),
        ("score (0-10)", "score", StatedScale(0, 10)), ("score_1_to_5", "score", StatedScale(1, 5)),
        ("score (%)", "score", StatedScale(0, 100)),
        ("得分（满分10分）", "得分", top(10)), ("点数（10点満点）", "点数", top(10)),
        ("Note (sur 20)", "Note", top(20)),
        ("score_percent", "score", StatedScale(0, 100)), ("score_1", "score_1", None), ("Score (1)", "Score (1)", None),
        ("trajectory_1_score", "trajectory_1_score", None), ("Score (v2)", "Score (v2)", None),
        ("score", "score", None),
    ],
)  # fmt: skip
def test_a_key_may_state_the_scale_itself(key: str, base: str, scale: StatedScale | None) -> None:
    assert scale_of_key(key) == (base, scale)


scales = st.tuples(st.integers(-10, 10), st.integers(1, 1000)).map(lambda ends: StatedScale(ends[0], ends[0] + ends[1]))


@given(scales, scales, st.floats(0, 1), st.floats(0, 1))
def test_conversion_keeps_ends_and_order(own: StatedScale, asked: StatedScale, one: float, other: float) -> None:
    low, high = sorted(own.low + share * (own.high - own.low) for share in (one, other))
    ends = (asked.low, asked.high)
    assert own.convert_number(own.low, ends) == pytest.approx(asked.low)
    assert own.convert_number(own.high, ends) == pytest.approx(asked.high)
    assert own.convert_number(low, ends) <= own.convert_number(high, ends) + 1e-9
    assert own.convert_number(low, (own.low, own.high)) == low


@given(
    st.text(max_size=80)
    | st.integers()
    | st.floats()
    | st.lists(st.floats(), max_size=3)
    | st.dictionaries(st.text(), st.text())
)
@example({"": "0\x1f"})  # a sign that str.strip takes for a blank, and float does not
def test_any_value_describes_a_scale_or_none_and_never_raises(value: Any) -> None:
    scale = described_scale(value)
    assert scale is None or scale in (UNCLEAR, UPSIDE_DOWN) or isinstance(scale, StatedScale)
    if isinstance(scale, StatedScale):
        assert scale.low < scale.high


@given(st.text(alphabet="0123456789 ./,()-%[]outfmax分满点中점 von", max_size=40))
def test_any_text_beside_a_number_is_read_or_left_and_never_raises(text: str) -> None:
    found = attached_scale(text)
    if found is not None:
        assert found[1].low < found[1].high
        assert found[2] <= len(text)
