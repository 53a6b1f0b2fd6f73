"""Off-scale numbers are judged together, by the rule the caller chose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.rejected import Rejected
from calipers.replies.scores.found import Found, StatedScale, Unread, Value
from calipers.replies.scores.scales import OutOfRange, mark_unclear_scores, scores_on_scale


def settle(
    numbers: list[float], rule: OutOfRange = "reask", scale: tuple[float, float] = (0, 1), *, complete: bool = True
) -> tuple[list[float], str | None, OutOfRange | None]:
    values = {str(place): Value(float(number)) for place, number in enumerate(numbers)}
    try:
        scores, adjusted = scores_on_scale(values, scale, rule, complete=complete)
    except Rejected as reject:
        return [], reject.reason, None
    return list(scores.values()), None, adjusted


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from(["reask", "rescale", "rank", "clamp"]))
def test_on_the_scale_no_rule_changes_anything(numbers: list[float], rule: OutOfRange) -> None:
    scores, problem, adjusted = settle(numbers, rule)
    assert scores == pytest.approx(numbers, abs=1e-6)
    assert (problem, adjusted) == (None, None)


@pytest.mark.parametrize("numbers", [[7, 10, 15], [0.9, 7], [-0.1], [1.001]])
def test_off_the_scale_the_default_is_doubt(numbers: list[float]) -> None:
    _, problem, adjusted = settle(numbers)
    assert problem is not None
    assert "off-scale" in problem
    assert adjusted is None


@pytest.mark.parametrize(
    ("numbers", "scores"),
    [([83, 20, 55], [0.83, 0.2, 0.55]), ([7, 3, 9], [0.7, 0.3, 0.9]), ([7, 10, 15], [0.07, 0.1, 0.15])],
)
def test_rescale_takes_the_one_usual_scale_that_fits(numbers: list[float], scores: list[float]) -> None:
    got, problem, adjusted = settle(numbers, "rescale")
    assert got == pytest.approx(scores)
    assert (problem, adjusted) == (None, "rescale")


@pytest.mark.parametrize("numbers", [[4, 2], [0.5, 7], [-1, 5], [1000, 3]])
def test_rescale_refuses_where_none_or_several_fit(numbers: list[float]) -> None:
    assert settle(numbers, "rescale")[1] is not None


def test_rescale_refuses_where_some_scores_have_a_stated_scale() -> None:
    values = {"KB": Value(1.0, StatedScale(0.0, 10.0), 10.0), "BC": Value(30.0)}
    with pytest.raises(Rejected, match="30 is not between 0 and 1"):
        scores_on_scale(values, (0, 1), "rescale", complete=True)


@pytest.mark.parametrize(("others", "read"), [(19, False), (20, True)])
def test_the_first_20_numbers_of_an_explanation_may_show_another_scale(others: int, *, read: bool) -> None:
    why = ", ".join(["7/10"] * others + ["a solid 8/10"])
    found = Found({"KB": Value(8.0)}, {"KB": why})
    mark_unclear_scores(found, (0, 100), why, cut=False)
    assert isinstance(found.values["KB"], Value if read else Unread)


def test_rank_keeps_the_order_and_shares_places() -> None:
    assert settle([7, 15, 10, 10], "rank") == ([0, 1, 0.5, 0.5], None, "rank")
    assert settle([7, 15], "rank", complete=False)[1] is not None


def test_clamp_is_done_when_asked_for() -> None:
    assert settle([-3, 0.5, 15], "clamp") == ([0, 0.5, 1], None, "clamp")


def test_fractions_on_a_wide_scale_are_doubt_and_can_be_rescaled() -> None:
    assert settle([0.9, 0.4], scale=(0, 100))[1] is not None
    assert settle([0.9, 40, 10], scale=(0, 100))[1] is not None
    assert settle([1, 0], scale=(0, 100))[1] is None
    assert settle([0.9, 0.4], "rescale", (0, 100)) == ([90, 40], None, "rescale")
