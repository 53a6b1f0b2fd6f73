"""What one order of a pair counts by a judge's position bias, and scores from judgments that are corrected for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.pair_bias import BiasCorrected, PairBias, PairVerdict, shrink_into_bounds
from calipers.aggregators.position_bias import PositionBias
from calipers.aggregators.two_way import two_way
from calipers.types import Comparison, Judgment, Rating, Scores

LEANS = PairBias(pairs=100, first_rate=0.8, first_contradicted=0.6, second_contradicted=0.1)


def leaning(first_twice: int, second_twice: int, agree: int) -> PairBias:
    """The bias of a judge with so many pairs decided by position alone, and the rest decided alike in both orders."""
    agreeing: list[tuple[PairVerdict, PairVerdict]] = [("first", "second"), ("second", "first")]
    pairs = [agreeing[number % 2] for number in range(agree)]
    pairs += [("first", "first") for _ in range(first_twice)]
    bias = PairBias.learn([*pairs, *(("second", "second") for _ in range(second_twice))])
    assert bias is not None
    return bias


@given(st.integers(0, 80), st.integers(0, 80), st.integers(10, 80), st.floats(1.05, 2))
def test_the_other_order_never_costs_more_than_allowed(first: int, second: int, agree: int, calls: float):
    bias = leaning(first, second, agree)
    rate = bias.first_rate
    spent = 1 + rate * bias.swap_share("first", calls=calls) + (1 - rate) * bias.swap_share("second", calls=calls)
    assert spent <= calls + 1e-9
    assert 0 <= bias.margin("first") <= 1
    assert -1 <= bias.margin("second") <= 0


def margins(*comparisons: Comparison, slot: int = 0) -> list[float]:
    """The margins that an aggregator is given where the judge of ``slot`` is known to lean."""
    seen: list[Judgment] = []

    def within(judgments: list[Judgment], n: int) -> Scores:
        seen.extend(judgments)
        return Scores((None,) * n, (None,) * n)

    BiasCorrected(within, {}, {slot: LEANS})(comparisons, 3)  # type: ignore[arg-type]  # a list is a sequence
    return [one.margin for one in seen if isinstance(one, Comparison)]


def test_one_order_is_corrected_by_degrees_and_both_orders_are_taken_as_they_are():
    first, second = margins(Comparison(0, 1, 1.0, 0), Comparison(0, 2, -1.0, 1))
    assert [first, second] == pytest.approx([0.4, -0.9])
    assert margins(Comparison(0, 1, 0.5, 0)) == [pytest.approx(0.2)]
    assert margins(Comparison(0, 1, 0.0, 0)) == [0.0]
    assert margins(Comparison(0, 1, 1.0, 0), Comparison(1, 0, -0.5, 1)) == [1.0, -0.5]
    assert margins(Comparison(0, 1, 1.0, 0), slot=1) == [1.0]


def test_ratings_lose_what_their_place_is_worth():
    plain = [Rating(item, value, 0, item) for item, value in enumerate((0.6, 0.5, 0.5))]
    scores = BiasCorrected(two_way, {0: PositionBias(0.0, 0.15, 40)}, {})(plain, 3)
    assert scores.values[0] < scores.values[1] == scores.values[2]  # type: ignore[operator]  # all were rated


@given(st.lists(st.floats(-0.5, 1.5).map(lambda one: round(one, 3)) | st.none(), min_size=1, max_size=8))
def test_scores_off_the_scale_are_drawn_in_without_making_a_tie(values: list[float | None]):
    found = shrink_into_bounds(Scores(tuple(values), (None,) * len(values)), 0.0, 1.0).values
    known = [(one, there) for one, there in zip(found, values, strict=True) if one is not None and there is not None]
    assert len(known) == sum(one is not None for one in values)
    assert all(-1e-6 <= one <= 1 + 1e-6 for one, _ in known)
    inside = not known or 0 < sum(there for _, there in known) / len(known) < 1
    for one, there in known:
        for other, yonder in known:
            assert (one - other) * (there - yonder) >= 0
            if inside and abs(there - yonder) > 0.01:
                assert one != other
