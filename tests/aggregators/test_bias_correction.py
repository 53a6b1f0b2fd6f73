"""One order read for what it is worth; both orders as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.bias_correction import BiasCorrected, shrink_into_bounds, verdict_of_comparison
from calipers.aggregators.pair_bias import PairBias
from calipers.aggregators.position_bias import PositionBias
from calipers.aggregators.two_way import two_way
from calipers.types import Comparison, Judgment, Rating, Scores

LEANS = PairBias(pairs=100, first_rate=0.8, first_contradicted=0.6, second_contradicted=0.1)


class Seen:
    """An aggregator that keeps what it was given."""

    judgments: list[Judgment]

    def __call__(self, judgments: list[Judgment], n: int) -> Scores:
        self.judgments = list(judgments)
        return Scores((None,) * n, (None,) * n)


def margins(*comparisons: Comparison, swaps: PairBias = LEANS) -> list[float]:
    within = Seen()
    BiasCorrected(within, {}, {0: swaps})(comparisons, 3)  # type: ignore[arg-type]  # a list is a sequence
    return [one.margin for one in within.judgments if isinstance(one, Comparison)]


def test_a_verdict_the_judge_leans_to_is_weak_evidence_and_the_other_is_strong():
    first, second = margins(Comparison(0, 1, 1.0, 0), Comparison(0, 2, -1.0, 1))
    assert first == pytest.approx(0.4)
    assert second == pytest.approx(-0.9)


def test_degrees_are_kept_ties_stay_and_both_orders_are_taken_as_they_are():
    assert margins(Comparison(0, 1, 0.5, 0)) == [pytest.approx(0.2)]
    assert margins(Comparison(0, 1, 0.0, 0)) == [0.0]
    assert margins(Comparison(0, 1, 1.0, 0), Comparison(1, 0, -0.5, 1)) == [1.0, -0.5]
    assert [verdict_of_comparison(Comparison(0, 1, margin, 0)) for margin in (0.1, -0.1, 0.0)] == [
        "first",
        "second",
        "tie",
    ]


def test_another_judges_verdicts_are_not_touched():
    within = Seen()
    BiasCorrected(within, {}, {1: LEANS})([Comparison(0, 1, 1.0, 0)], 2)  # type: ignore[arg-type]  # as above
    assert within.judgments == [Comparison(0, 1, 1.0, 0)]


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
