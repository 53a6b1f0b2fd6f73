"""What one order of a pair counts, by a judge's position bias."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.pair_bias import PairBias, PairVerdict

POINTS = {"first": 1, "second": -1, "tie": 0}
FIRST_TWICE: tuple[PairVerdict, PairVerdict] = ("first", "first")
SECOND_TWICE: tuple[PairVerdict, PairVerdict] = ("second", "second")
FIRST_SECOND: tuple[PairVerdict, PairVerdict] = ("first", "second")


def verdicts(first_twice: int, second_twice: int, agree: int) -> list[tuple[PairVerdict, PairVerdict]]:
    half = agree // 2
    first, second, one, other = FIRST_TWICE, SECOND_TWICE, FIRST_SECOND, (FIRST_SECOND[1], FIRST_SECOND[0])
    return [first] * first_twice + [second] * second_twice + [one] * half + [other] * (agree - half)


def learned(first_twice: int, second_twice: int, agree: int) -> PairBias:
    bias = PairBias.learn(verdicts(first_twice, second_twice, agree))
    assert bias is not None
    return bias


def test_a_first_from_a_judge_that_always_says_so_is_weak_and_its_second_is_strong():
    bias = learned(60, 2, 38)
    assert bias.first_rate == pytest.approx(0.79)
    assert bias.margin("first") < 0.3
    assert bias.margin("second") < -0.8


def test_a_judge_that_leans_to_the_second_is_read_the_other_way_round():
    one, other = learned(60, 2, 38), learned(2, 60, 38)
    assert other.margin("first") == pytest.approx(-one.margin("second"))
    assert other.margin("second") == pytest.approx(-one.margin("first"))


def test_a_judge_without_a_lean_is_read_evenly():
    bias = learned(6, 6, 40)
    assert bias.margin("first") == -bias.margin("second")


def test_what_chance_explains_is_no_lean():
    bias = learned(4, 3, 30)
    assert bias.first_contradicted == bias.second_contradicted


def test_thin_data_correct_nothing():
    assert PairBias.learn(verdicts(5, 1, 3)) is None
    assert PairBias.learn([("tie", "first")] * 50) is None


def test_a_tie_is_worth_nothing_either_way_and_is_asked_again():
    assert learned(60, 2, 38).margin("tie") == 0
    assert learned(60, 2, 38).swap_share("tie") == 1


def test_the_other_order_is_asked_where_the_verdict_follows_the_bias():
    bias = learned(35, 2, 63)
    assert bias.swap_share("first") == 1
    assert bias.swap_share("second") == 0


def test_a_judge_that_agrees_with_itself_is_not_asked_again():
    bias = learned(1, 1, 98)
    assert bias.swap_share("first") == bias.swap_share("second") == 0


@given(st.integers(0, 80), st.integers(0, 80), st.integers(10, 80), st.floats(1.05, 2))
def test_the_other_order_never_costs_more_than_allowed(first: int, second: int, agree: int, calls: float):
    bias = learned(first, second, agree)
    rate = bias.first_rate
    spent = 1 + rate * bias.swap_share("first", calls=calls) + (1 - rate) * bias.swap_share("second", calls=calls)
    assert spent <= calls + 1e-9


@given(st.integers(0, 80), st.integers(0, 80), st.integers(10, 80))
def test_a_single_verdict_never_counts_more_than_two_that_agree(first: int, second: int, agree: int):
    bias = learned(first, second, agree)
    assert 0 <= bias.margin("first") <= 1
    assert -1 <= bias.margin("second") <= 0


def test_one_order_foretells_both_on_average():
    """The margin of a verdict is the mean of both orders' verdicts, over pairs where that verdict was given."""
    generator = random.Random(0)
    pairs: list[tuple[PairVerdict, PairVerdict]] = []
    for _ in range(4000):
        gap = generator.gauss(0, 1)
        one: PairVerdict = "first" if gap + 0.6 + generator.gauss(0, 0.5) > 0 else "second"
        other: PairVerdict = "first" if -gap + 0.6 + generator.gauss(0, 0.5) > 0 else "second"
        pairs.append((one, other))
    bias = PairBias.learn(pairs)
    assert bias is not None
    kinds: tuple[PairVerdict, ...] = ("first", "second")
    for kind in kinds:
        both = [(POINTS[one] - POINTS[other]) / 2 for one, other in pairs if one == kind]
        assert bias.margin(kind) == pytest.approx(sum(both) / len(both), abs=0.03)


def test_where_calls_do_not_suffice_for_both_verdicts_the_more_doubtful_one_has_them():
    """Seven of ten verdicts are "first", so half a call a pair pays for five sevenths of them."""
    bias = learned(60, 20, 20)
    assert bias.swap_share("first", calls=1.5) == pytest.approx(0.5 / 0.7)
    assert bias.swap_share("second", calls=1.5) == 0
    assert bias.swap_share("first") == 1
    assert bias.swap_share("second") == pytest.approx(0.05 / 0.3)


def test_ten_pairs_without_a_tie_are_enough_and_nine_are_not():
    assert PairBias.learn([*verdicts(4, 1, 4), ("tie", "first")]) is None
    assert learned(4, 1, 5).pairs == 10
