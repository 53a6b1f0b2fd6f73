"""Pairs judged in both orders."""

import numpy as np
import pytest

from calipers.aggregators.pair_bias import PairVerdict
from calipers.calibration.order_bias import agreeing_accuracy, agreeing_share, first_rate, flip_rate, orders_agree
from calipers.calibration.records import Key
from calipers.calibration.series import Frame, Series, Swap
from calipers.inputs import as_group
from judged import group

FRAME = Frame.of(as_group(group(n, {"a": gold, "b": 0.0})) for n, gold in enumerate((1.0, 1.0, 0.0, None)))


def series(*said: tuple[int, PairVerdict, PairVerdict]) -> Series:
    swaps = tuple(Swap(row, "a", "b", one, other) for row, one, other in said)
    verdicts: dict[PairVerdict, int] = {}
    for _, *both in said:
        for one in both:
            verdicts[one] = verdicts.get(one, 0) + 1
    key = Key("j", "pairwise", None, None, None)
    return Series(key, (0,), np.zeros((1, 1, 2)), (1,), 1, 2, 2, swaps=swaps, verdicts=verdicts)


@pytest.mark.parametrize(("one", "other", "same"), [
    ("first", "second", True), ("second", "first", True), ("tie", "tie", True),
    ("first", "first", False), ("second", "second", False), ("first", "tie", False), ("tie", "second", False),
])  # fmt: skip
def test_orders_agree_when_they_name_the_same_trajectory(one: PairVerdict, other: PairVerdict, *, same: bool):
    assert orders_agree(Swap(0, "a", "b", one, other)) is same


def test_flips_and_leans_are_shares():
    found = series((0, "first", "second"), (1, "first", "first"), (0, "tie", "tie"), (1, "first", "tie"))
    assert flip_rate(found) == 0.5
    assert first_rate(found) == 0.8
    assert flip_rate(series()) is first_rate(series()) is None


def test_accuracy_is_over_shared_winners_of_pairs_that_differ_in_gold():
    assert (
        agreeing_accuracy(series((0, "first", "second"), (1, "second", "first"), (0, "first", "first")), FRAME) == 0.5
    )
    assert agreeing_accuracy(series((2, "first", "second"), (3, "first", "second"), (0, "tie", "tie")), FRAME) is None


def test_what_is_left_where_contradictions_are_ties_is_a_share():
    assert agreeing_share(series((0, "first", "second"), (1, "first", "first"), (0, "tie", "tie"))) == pytest.approx(
        1 / 3
    )
    assert agreeing_share(series()) is None
