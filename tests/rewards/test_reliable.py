"""Shrunk and weighted rewards: smaller where noise is larger, untouched where it is unknown, and never NaN."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.rewards.rank import Rank
from calipers.rewards.reliability import reliability_of
from calipers.rewards.reliable import Shrunk, Weighted, standardised
from calipers.testing import Noise, SimulatedJudge
from calipers.types import Scores
from groups import FOUR, QUALITY, group_of
from viewed import view_of

VALUES = (0.2, 0.5, 0.8, None)
KNOWN = Scores(VALUES, (0.1, 0.1, 0.1, None), "repeats", 4)
NOISE_ALONE = Scores(VALUES, (0.5, 0.5, 0.5, None), "learned", 4)
UNKNOWN = Scores(VALUES, (None,) * 4)
ASSUMED = Scores(VALUES, (0.1, 0.1, 0.1, None), "assumed")
VIEW = view_of("a", "b", "c", "d")


def test_shrunk_rewards_are_the_mean_and_the_reliable_share_of_the_rest() -> None:
    share = reliability_of(KNOWN).value or 0.0
    assert share == pytest.approx(1 - 0.01 / 0.09, abs=1e-6)
    assert Shrunk()(KNOWN, VIEW) == pytest.approx((0.5 - 0.3 * share, 0.5, 0.5 + 0.3 * share, None))
    assert Shrunk((-1.0, 1.0))(KNOWN, VIEW) == pytest.approx((-0.6 * share, 0.0, 0.6 * share, None))
    assert Shrunk(inner=Rank())(KNOWN, VIEW) == pytest.approx((0.5 - 0.5 * share, 0.5, 0.5 + 0.5 * share, None))


@pytest.mark.parametrize("unit", [1e-10, 1e-300, 1e200])
def test_shrunk_rewards_are_relative_to_their_range(unit: float) -> None:
    found = [None if one is None else one / unit for one in Shrunk((0.0, unit))(KNOWN, VIEW)]
    assert found == pytest.approx(Shrunk()(KNOWN, VIEW))


def test_weighted_rewards_are_standard_scores_times_the_root_of_the_reliability() -> None:
    weight = math.sqrt(reliability_of(KNOWN).value or 0)
    assert Weighted()(KNOWN, VIEW) == pytest.approx((-weight, 0.0, weight, None))


@pytest.mark.parametrize("scores", [UNKNOWN, ASSUMED], ids=["unknown", "assumed"])
def test_what_no_answer_tells_changes_nothing(scores: Scores) -> None:
    assert Shrunk()(scores, VIEW) == VALUES
    assert Weighted()(scores, VIEW) == pytest.approx((-1.0, 0.0, 1.0, None))


def test_a_group_of_noise_gets_equal_rewards_bit_for_bit() -> None:
    assert Shrunk()(NOISE_ALONE, VIEW) == (0.5, 0.5, 0.5, None)
    assert Weighted()(NOISE_ALONE, VIEW) == (0.0, 0.0, 0.0, None)


def test_groups_with_nothing_to_compare() -> None:
    cases = {(): [], (None,): [None], (0.7, None): [0.0, None], (0.7, 0.7): [0.0, 0.0]}
    assert {values: standardised(values) for values in cases} == cases
    alone = Scores((0.7,), (0.1,), "repeats", 1)
    assert Shrunk()(alone, view_of("a")) == (0.7,)
    assert Weighted()(alone, view_of("a")) == (0.0,)


@given(st.lists(st.tuples(st.none() | st.floats(-1, 2), st.none() | st.floats(0, 1e6)), max_size=8))
def test_rewards_keep_order_and_gaps_and_are_never_nan(rows: list[tuple[float | None, float | None]]) -> None:
    scores = Scores(tuple(value for value, _ in rows), tuple(error for _, error in rows), "learned", 5)
    view = view_of(*("x" * len(rows)))
    for made in (Shrunk()(scores, view), Weighted()(scores, view)):
        assert [one is None for one in made] == [one is None for one in scores.values]
        pairs = [(a, b) for a, b in zip(scores.values, made, strict=True) if a is not None and b is not None]
        assert all(math.isfinite(reward) for _, reward in pairs)
        assert all(x[1] <= y[1] for x in pairs for y in pairs if x[0] < y[0])


async def test_a_judge_shrinks_by_its_own_reliability_and_says_where_it_cannot() -> None:
    noisy = SimulatedJudge(QUALITY, Noise(0.1), seed=1)
    plain = await calipers.Judge(noisy, orders=3).score_group(group_of(FOUR))
    shrunk = await calipers.Judge(noisy, orders=3, reward="shrunk").score_group(group_of(FOUR))
    share = plain.reliability.value
    assert share
    known = [one for one in plain.rewards if one is not None]
    mean = statistics.fmean(known)
    assert shrunk.rewards == pytest.approx([mean + share * (one - mean) for one in known], abs=1e-6)
    assert not [note for note in shrunk.warnings if "reliability" in note]
    once = await calipers.Judge(noisy, reward="shrunk").score_group(group_of(FOUR))
    assert "reward='shrunk' could not use reliability: it is unknown (docs/rewards.md)" in once.warnings
    assert once.rewards == (await calipers.Judge(noisy).score_group(group_of(FOUR))).rewards


async def test_pairs_are_shrunk_as_win_rates_whose_errors_are_assumed() -> None:
    judge = calipers.Judge(SimulatedJudge(QUALITY), protocol="pairwise", reward="shrunk")
    result = await judge.score_group(group_of(FOUR))
    plain = await calipers.Judge(SimulatedJudge(QUALITY), protocol="pairwise").score_group(group_of(FOUR))
    assert result.rewards == plain.rewards
    assert [note for note in result.warnings if "assumed, not estimated" in note]
