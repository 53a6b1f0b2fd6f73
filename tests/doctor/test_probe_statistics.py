"""Figures of opinions: counted by hand, by brute force, and over judges of one vice."""

from __future__ import annotations

from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.doctor.examinee import Answer, Answers
from calipers.doctor.probe_statistics import (
    chance_of_agreement,
    count_flips,
    count_obeyed,
    count_repeats,
    format_figures,
    measure_agreement,
)
from calipers.doctor.probes import INJECTIONS, PROBES
from calipers.types import Ask, Completion, Failure, Reading

TRUE = {"1": 1.0, "2": 0.5, "3": 0.0}
FALSE = {"1": 0.0, "2": 0.5, "3": 1.0}


def received(group: int, scores: dict[str, float], **reading: object) -> Answer:
    read = Reading((), "strict", **reading)  # type: ignore[arg-type]  # a test's own fields
    return Answer(f"probe-{group}", Ask(0, (0, 1, 2), (0, 1, 2)), Completion(""), read, scores)


def answers(*every: Answer, failures: tuple[Failure, ...] = ()) -> Answers:
    return Answers(len(every) + len(failures), every, failures)


@pytest.mark.parametrize("sizes", [(2,), (3,), (4,), (2, 3), (3, 3)])
def test_luck_is_the_share_of_random_rankings_that_do_as_well(sizes: tuple[int, ...]):
    rankings = list(product(*(permutations(range(size)) for size in sizes)))
    rights = [sum(a < b for ranking in drawn for a, b in combinations(ranking, 2)) for drawn in rankings]
    for right in range(max(rights) + 2):
        expected = sum(one >= right for one in rights) / len(rights)
        assert chance_of_agreement(right, sizes) == pytest.approx(expected)


@given(st.floats(0, 36), st.floats(0, 36))
def test_more_pairs_right_are_never_likelier_by_luck(one: float, other: float):
    few, many = sorted((one, other))
    assert 0 < chance_of_agreement(many, [3] * 12) <= chance_of_agreement(few, [3] * 12) <= 1


def test_twenty_nine_of_thirty_six_pairs_are_needed_to_show_anything():
    """The threshold that verdict's comment states."""
    assert chance_of_agreement(29, [3] * 12) < 0.001 <= chance_of_agreement(28, [3] * 12)


def test_agreement_is_that_of_a_groups_mean_and_a_tie_is_half():
    found = measure_agreement(
        PROBES, answers(received(1, TRUE), received(1, TRUE), received(2, TRUE), received(2, FALSE), received(3, FALSE))
    )
    assert (found.right, found.pairs, found.groups) == (3 + 1.5 + 0, 9, 3)
    assert measure_agreement(PROBES, answers()).share is None


def test_a_reading_that_lacks_an_id_counts_for_nothing():
    partial = received(1, {"1": 1.0, "2": 0.0}, missing={2: "left out"})
    assert measure_agreement(PROBES, answers(partial)).groups == 0
    assert count_flips(answers(partial, partial)).pairs == 0


def test_flips_are_pairs_with_another_winner_and_ties_are_none():
    assert count_flips(answers(received(1, TRUE), received(1, FALSE))).flipped == 3
    assert count_flips(answers(received(1, TRUE), received(1, dict.fromkeys("123", 0.5)))).flipped == 0
    assert count_flips(answers(received(1, TRUE), received(2, TRUE))).share is None


def test_an_injection_is_obeyed_when_it_draws_level():
    def told(number: int, right: float, wrong: float) -> Answer:
        one = received(0, {"1": right, "2": wrong})
        return Answer(f"injection-{number}", one.ask, one.completion, one.reading, one.scores)

    assert count_obeyed(INJECTIONS, answers(told(1, 0.9, 0.1), told(2, 0.9, 0.9), told(3, 0.0, 1.0))) == (2, 3)
    assert count_obeyed(INJECTIONS, answers()) == (0, 0)


def test_repeats_count_questions_and_the_largest_difference():
    same, twice, apart = count_repeats(
        answers(received(1, TRUE), received(1, TRUE), received(2, TRUE), received(2, {**TRUE, "3": 0.2}))
    )
    assert (same, twice) == (1, 2)
    assert apart == pytest.approx(0.2)


def test_failures_count_against_a_judge_but_not_what_there_was_no_time_for():
    failed, late = Failure("server", "broke down"), Failure("deadline", "late")
    kept = format_figures(answers(received(1, TRUE), failures=(failed, late)))
    assert (kept.asked, kept.answered, kept.used, kept.readable, kept.why) == (3, 1, 1, 0.5, "broke down")
    assert format_figures(answers(failures=(late,))).readable is None


def test_ids_and_range_are_shares_of_answers_that_held_scores():
    kept = format_figures(
        answers(
            received(1, TRUE),
            received(2, {}, missing={0: "x"}, reason="r", complaint="its scores were not on the scale"),
            received(3, {}, missing={0: "x"}, reason="r", complaint="it named an attempt that does not exist, or"),
            received(4, {}, missing={0: "x"}, reason="r", complaint="it held no scores that could be read"),
        )
    )
    assert (kept.used, kept.readable) == (1, 0.25)
    assert kept.ids == pytest.approx(2 / 3)
    assert kept.on_scale == pytest.approx(2 / 3)
