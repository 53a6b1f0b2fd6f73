"""One judge's figures, its noise, and how much better one judge is than another on the same groups."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration import calibrate, measures, repeats
from calipers.calibration.measures import Array
from calipers.calibration.metrics import Difference, JudgeFigures, difference_lines, figures_of_series
from calipers.calibration.series import fidelity_curve
from judged import compared, gold_of, group, groups, rated, record, series_of

GROUPS = groups(120)


def figures(*records: dict[str, Any], of: list[dict[str, Any]] = GROUPS) -> tuple[JudgeFigures, ...]:
    series, frame = series_of(of, *records)
    return tuple(figures_of_series(one, frame, fidelity_curve(one, one.gold(frame))) for one in series)


def test_more_calls_agree_better_and_show_noise_repeatability_and_honest_errors():
    (one,) = figures(*rated(GROUPS, "j", 1.0, calls=6))
    levels = [point.advantage_fidelity for point in one.by_calls]
    assert [point.calls for point in one.by_calls] == [1, 2, 3, 4, 5, 6]
    assert levels == sorted(levels)
    assert levels[-1] == one.advantage_fidelity
    assert one.noise == pytest.approx(1.0, rel=0.05)
    assert one.repeatability == pytest.approx(0.5, abs=0.06)
    assert one.stderr_ratio == pytest.approx(1.0, abs=0.2)


def test_the_curve_is_the_mean_over_cyclic_windows():
    """By hand: of three calls one is right and two are wrong; every pair of them but one is level."""
    pair = group(1, {"a": 1, "b": 0})
    rows = [{"a": 1, "b": 0}, {"a": 0, "b": 1}, {"a": 0, "b": 1}]
    (one,) = figures(*(record(pair, "j", {"scores": row}, sample_index=n) for n, row in enumerate(rows)), of=[pair])
    assert [point.advantage_fidelity for point in one.by_calls] == pytest.approx([-1 / 3, -1 / 3, -1])


def test_what_cannot_be_known_is_none():
    (one,) = figures(*rated(GROUPS, "j", 1.0))
    assert (one.noise, one.repeatability, one.stderr_ratio) == (None, None, None)
    assert (one.order_flip_rate, one.first_rate, one.length_preference) == (None,) * 3


def test_without_gold_bias_is_still_known():
    bare = [group(n, {"a": None, "b": None}) for n in range(20)]
    said = [record(one, "j", {"winner": order[0]}, mode="pairwise", order=[*order])
            for one in bare for order in ("ab", "ba")]  # fmt: skip
    (one,) = figures(*said, of=bare)
    assert (one.order_flip_rate, one.first_rate) == (1.0, 1.0)
    assert (one.advantage_fidelity, one.groups, one.by_calls) == (None, 0, ())


def test_order_bias_shows_in_flips_and_leans():
    fair, biased = figures(*compared(GROUPS, "a", bias=0.0, noise=0.2), *compared(GROUPS, "b", bias=1.5, noise=0.2))
    assert (fair.order_flip_rate or 1) < 0.2 < (biased.order_flip_rate or 0)
    assert fair.first_rate == pytest.approx(0.5, abs=0.03)
    assert (biased.first_rate or 0) > 0.75
    assert (fair.advantage_fidelity or 0) > 0.9  # both orders, fitted


def test_a_constant_judge_is_dead_everywhere_and_failures_are_a_rate_and_not_a_score():
    (one,) = figures(*(record(one, "j", {"scores": dict.fromkeys(gold_of(one), 5)}) for one in GROUPS))
    assert one.dead_groups == one.groups == 120
    assert (one.advantage_fidelity, one.tie_rate, one.sign_error) == (0.0, 1.0, 0.5)
    (one,) = figures(*(record(one, "j", {"scores": gold_of(one)} if n % 2 else None) for n, one in enumerate(GROUPS)))
    assert (one.failure_rate, one.groups, one.advantage_fidelity) == (0.5, 60, pytest.approx(1))


def test_a_taste_for_length_shows_where_there_are_texts():
    texts, said = groups(30, names=("a", "b", "c")), []
    for n, one in enumerate(texts):
        lengths = {member["id"]: 1 + (7 * n + 3 * k) % 10 for k, member in enumerate(one["trajectories"])}
        for member in one["trajectories"]:
            member["messages"] = [{"role": "assistant", "content": "x" * lengths[member["id"]]}]
        said.append(record(one, "j", {"scores": lengths}))
    (found,) = figures(*said, of=texts)
    assert found.length_preference == pytest.approx(1)
    assert found.gold_length_preference is not None
    assert abs(found.gold_length_preference) < 0.9


SIXTY = GROUPS[:60]


CLEAR, UNCLEAR = (0.06, 0.16), (-0.02, 0.05)


def pair(judge: str, other: str, difference: float, interval: tuple[float, float], asked: str = "m") -> Difference:
    return Difference(judge, asked, other, "m", difference, interval, 40)


def test_each_pair_is_compared_on_the_groups_that_both_scored():
    records = [*rated(SIXTY, "fine", 0.3), *rated(SIXTY[10:], "fair", 0.9), *rated(SIXTY[:50], "poor", 3.0)]
    found = calibrate(SIXTY, records)
    assert [(one.judge, one.other, one.groups) for one in found.differences] == [
        ("fine", "fair", 50), ("fine", "poor", 50), ("fair", "poor", 40),
    ]  # fmt: skip
    assert all(one.is_clear for one in found.differences)
    assert found.to_dict()["differences"][0]["groups"] == 50
    assert calibrate(SIXTY, list(rated(SIXTY, "fine", 0.3))).differences == ()


def test_one_sentence_answers():
    a = "vllm/a@http://x/v1"
    cases = (
        ([pair(a, "b", 0.113, CLEAR), pair(a, "c", 0.01, UNCLEAR), pair("c", "b", 0.1, CLEAR)],
         "vllm/a agrees better with gold than b; these groups do not show that it does than c."),
        ([pair(a, "b", 0.1, CLEAR)], "vllm/a agrees better with gold than b."),
        ([pair(a, "b", 0.0, UNCLEAR)], "These groups cannot show which of vllm/a and b agrees best with gold."),
        ([pair(a, "b", 0.1, CLEAR, asked="pairwise")], "vllm/a (pairwise) agrees better with gold than b (m)."),
    )  # fmt: skip
    found = [difference_lines(pairs, {a: "vllm/a"}) for pairs, _ in cases]
    assert [lines[-1] for lines in found] == [answer for _, answer in cases]
    assert found[0][:-1] == [
        "vllm/a - b  +0.113 [+0.060, +0.160] on 40 groups",
        "vllm/a - c  +0.010 [-0.020, +0.050] on 40 groups",
    ]
    assert difference_lines([], {}) == []


# --- noise and honest errors over simulated calls ---------------------------------------------------------------------

GENERATOR = np.random.default_rng(5)
TRUTH = GENERATOR.normal(size=(600, 1, 4))
CALLS = TRUTH + GENERATOR.normal(scale=0.6, size=(600, 8, 4))
LISTS = CALLS + GENERATOR.normal(scale=3.0, size=(600, 8, 1))
"""The same, with a level of its own for every list."""


def test_standard_errors_are_honest_from_two_calls_a_half_on():
    for calls, shared in ((CALLS, False), (LISTS, True)):
        ratios = [repeats.stderr_ratio(calls[:, : 2 * half], shared=shared) for half in (2, 3, 4)]
        assert ratios == pytest.approx([1] * 3, abs=0.12)
    assert repeats.stderr_ratio(CALLS[:, :3], shared=False) is None
    assert repeats.learn_noise(CALLS[:, :1], shared=False) is None


def test_the_level_of_a_list_is_no_noise_and_what_is_not_shared_is():
    shared, alone = repeats.learn_noise(LISTS, shared=True), repeats.learn_noise(LISTS, shared=False)
    assert shared is not None
    assert alone is not None
    assert shared.variance == pytest.approx(0.36, rel=0.05)
    assert alone.variance > 5


def test_missing_scores_take_their_degrees_of_freedom_with_them():
    gaps = CALLS[:3].copy()
    gaps[0, 0, 0] = gaps[1, :, 2] = math.nan
    gaps[2] = math.nan
    assert repeats.squared_residuals(gaps, shared=False)[1].tolist() == [27, 21, 0]
    assert repeats.squared_residuals(gaps, shared=True)[1].tolist() == [20, 14, 0]


# --- agreement, group by group ----------------------------------------------------------------------------------------

NAN = math.nan
GOLD = np.array([[3.0, 2.0, 1.0, 0.0]])
VALUES = st.lists(st.integers(-5, 5).map(float), min_size=4, max_size=4)


ALL = (measures.fidelity, measures.tau_b, measures.top1, measures.sign_error)


def row(*values: float) -> Array:
    return np.array([values])


def test_scores_in_proportion_to_gold_are_perfect_and_equal_ones_are_chance():
    for scores, expected in ((row(30, 20, 10, 0), (1, 1, 1, 0)), (row(5, 5, 5, 5), (0, 0, 0.25, 0.5))):
        found = [measure(scores, GOLD)[0] for measure in ALL]
        assert found == pytest.approx(expected)


def test_what_has_no_score_or_no_spread_in_gold_says_nothing():
    assert all(math.isnan(measure(row(1, 2, 3, 4), row(1, 1, 1, 1))[0]) for measure in ALL)
    assert measures.fidelity(row(NAN, 2, 1, 0), row(-9, 2, 1, 0))[0] == pytest.approx(1)
    assert measures.fidelity(row(9, 2, 1, 0), row(NAN, 2, 1, 0))[0] == pytest.approx(1)
    assert math.isnan(measures.fidelity(row(NAN, NAN, NAN, 0), GOLD)[0])


def test_each_measure_is_what_a_person_computes():
    """Of tau-b: 5 pairs differ in both, 4 agree and 1 does not; 6 pairs differ in gold, 5 in scores."""
    by_hand = (
        (measures.top1, (9, 9, 1, 0), (3, 2, 1, 0), 0.5), (measures.top1, (0, 9, 1, 0), (1, 1, 0, 0), 1),
        (measures.tau_b, (2, 2, 1, 3), (3, 2, 1, 4), 5 / math.sqrt(6 * 5)),
        (measures.tau_b, (2, 2, 3, 1), (3, 2, 1, 4), -5 / math.sqrt(6 * 5)),
        (measures.sign_error, (100, 0, 0, 0), (9, 8, 1, 0), 0.25),  # an advantage's sign counts, and not its size
    )  # fmt: skip
    found = [measure(row(*scores), row(*gold))[0] for measure, scores, gold, _ in by_hand]
    assert found == pytest.approx([expected for *_, expected in by_hand])


@given(VALUES, VALUES, st.floats(0.1, 10), st.floats(-5, 5))
def test_measures_have_a_range_and_no_scale(scores: list[float], gold: list[float], scale: float, offset: float):
    moved = row(*(scale * value + offset for value in scores))
    for measure, low in zip(ALL, (-1, -1, 0, 0), strict=True):
        found = measure(row(*scores), row(*gold))[0]
        assert math.isnan(found) or low - 1e-9 <= found <= 1 + 1e-9
        if measure is not measures.sign_error:
            assert measure(moved, row(*gold))[0] == pytest.approx(found, abs=1e-9, nan_ok=True)


def test_an_interval_is_the_same_every_time_and_holds_the_mean():
    values = np.random.default_rng(0).normal(0.5, 1, size=200)
    low, high = measures.bootstrap_interval(values) or (NAN, NAN)
    assert measures.bootstrap_interval(values) == (low, high)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 / math.sqrt(200), rel=0.15)


def test_below_six_groups_there_is_no_interval_and_without_any_no_mean():
    assert measures.bootstrap_interval(np.array([*np.linspace(0.5, 1, 5), NAN])) is None
    assert measures.mean_over_groups(np.array([NAN])) is None
