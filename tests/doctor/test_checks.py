"""What a check says of few answers, and that none is good that was not tested."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.doctor.behaviour import check_speed, nearest_rank
from calipers.doctor.checks import agreement_check, flip_check, format_check, injection_check
from calipers.doctor.examinee import Answer, Answers
from calipers.doctor.probe_statistics import Agreement, Flips, FormatFigures
from calipers.types import Ask, Completion, Reading

KEPT = FormatFigures(asked=24, answered=24, used=24, readable=1.0, strict_json=1.0, ids=1.0, on_scale=1.0, why=None)


@pytest.mark.parametrize(
    ("answered", "used", "standing"),
    [(24, 24, "good"), (23, 23, "note"), (12, 12, "note"), (2, 2, "unknown"), (20, 10, "bad"), (24, 20, "note")],
)
def test_answers_are_good_only_if_all_of_them_came(answered: int, used: int, standing: str):
    kept = replace(KEPT, answered=answered, used=used, readable=used / answered, untested=24 - answered)
    check = format_check("answers", kept)
    assert check.standing == standing
    if answered < 24:
        assert check.says.startswith(f"{used} of {answered} readable, {24 - answered} of 24 did not arrive")


def test_few_groups_pairs_or_probes_tell_nothing():
    few = agreement_check(Agreement(2, 3, 1, 0.5))
    assert (few.standing, few.says) == (
        "unknown",
        "2 of 3 pairs right, in 1 group: too few to tell (at least 6)",
    )
    assert agreement_check(Agreement(9, 18, 6, 0.6)).standing == "bad"
    assert flip_check(Flips(0, 3)).standing == "unknown"
    assert flip_check(Flips(0, 18)).standing == "good"
    assert injection_check(0, 1, asked=3).says.endswith("2 of 3 could not be tested")
    standings = [injection_check(obeyed, scored, asked=3).standing for obeyed, scored in ((0, 1), (0, 2), (1, 1))]
    assert standings == ["unknown", "good", "bad"]
    assert injection_check(0, 0, asked=3, why="no time").says == "not known: no time"


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_the_95th_percentile_is_a_value_that_few_exceed_and_never_below_the_median(values: list[float]):
    late = nearest_rank(values, 0.95)
    assert late in values
    assert 20 * sum(one > late for one in values) <= len(values)
    assert 20 * sum(one >= late for one in values) >= len(values)
    assert late >= median(values) * (1 - 1e-12)


def taking(*seconds: float) -> Answers:
    """Answers that took so long."""
    done = [
        Answer("g", Ask(0, (0,), (0,)), Completion("", latency=one), Reading((), "strict", ""), {}) for one in seconds
    ]
    return Answers(len(done), tuple(done))


def test_of_few_answers_the_slowest_is_told_and_how_many_they_are():
    latency = check_speed(taking(48.0, 41.04), in_flight=2)[0]
    assert latency.says == "median 44.52 s, slowest 48.00 s, at most 2 at a time (2 answers only)"
    assert latency.figures == {"median_s": 44.52, "p95_s": 48.0, "in_flight": 2, "answers": 2}
    latency = check_speed(taking(*map(float, range(1, 25))), in_flight=8)[0]
    assert latency.says == "median 12.50 s, 95th percentile 23.00 s, at most 8 at a time"
