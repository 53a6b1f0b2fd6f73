"""One judge's figures, and how much better one judge is than another on the same groups."""

from typing import Any

import pytest

from calipers.calibration import calibrate
from calipers.calibration.metrics import Difference, JudgeFigures, difference_lines, figures_of_series
from calipers.calibration.records import as_record
from calipers.calibration.series import Frame, build_series, fidelity_curve
from calipers.inputs import as_group
from judged import compared, gold_of, groups, rated, record

GROUPS = groups(120)


def figures(*records: dict[str, Any], of: list[dict[str, Any]] = GROUPS) -> tuple[JudgeFigures, ...]:
    frame = Frame.of(map(as_group, of))
    series = build_series(map(as_record, records), frame)[0]
    return tuple(figures_of_series(one, frame, fidelity_curve(one, one.gold(frame))) for one in series)


def test_more_calls_agree_better_and_the_last_point_is_all_of_them():
    (one,) = figures(*rated(GROUPS, "j", 1.0, calls=6))
    levels = [point.advantage_fidelity for point in one.by_calls]
    assert [point.calls for point in one.by_calls] == [1, 2, 3, 4, 5, 6]
    assert levels == sorted(levels)
    assert levels[-1] == one.advantage_fidelity


def test_the_curve_is_the_mean_over_cyclic_windows():
    """By hand: of three calls one is right and two are wrong; every pair of them but one is level."""
    pair = {"group_id": "p", "trajectories": [{"id": "a", "gold": 1}, {"id": "b", "gold": 0}]}
    rows = [(1, 0), (0, 1), (0, 1)]
    (one,) = figures(
        *(record(pair, "j", {"scores": {"a": a, "b": b}}, sample_index=n) for n, (a, b) in enumerate(rows)), of=[pair]
    )
    assert [point.advantage_fidelity for point in one.by_calls] == pytest.approx([-1 / 3, -1 / 3, -1])


def test_noise_repeatability_and_honest_errors_come_from_repeats():
    (one,) = figures(*rated(GROUPS, "j", 1.0, calls=6))
    assert one.noise == pytest.approx(1.0, rel=0.05)
    assert one.repeatability == pytest.approx(0.5, abs=0.06)
    assert one.stderr_ratio == pytest.approx(1.0, abs=0.2)


def test_what_cannot_be_known_is_none():
    (one,) = figures(*rated(GROUPS, "j", 1.0))
    assert (one.noise, one.repeatability, one.stderr_ratio) == (None, None, None)
    assert (one.order_flip_rate, one.first_rate, one.length_preference) == (None,) * 3


def test_without_gold_bias_is_still_known():
    bare = [{"group_id": f"g{n}", "trajectories": [{"id": name, "messages": []} for name in "ab"]} for n in range(20)]
    said = [
        record(one, "j", {"winner": order[0]}, mode="pairwise", order=order)
        for one in bare
        for order in (["a", "b"], ["b", "a"])
    ]
    (one,) = figures(*said, of=bare)
    assert (one.order_flip_rate, one.first_rate) == (1.0, 1.0)
    assert (one.advantage_fidelity, one.groups, one.by_calls) == (None, 0, ())


def test_order_bias_shows_in_flips_and_leans():
    fair, biased = figures(*compared(GROUPS, "a", bias=0.0, noise=0.2), *compared(GROUPS, "b", bias=1.5, noise=0.2))
    assert fair.order_flip_rate is not None
    assert biased.order_flip_rate is not None
    assert fair.order_flip_rate < 0.2 < biased.order_flip_rate
    assert fair.first_rate == pytest.approx(0.5, abs=0.03)
    assert biased.first_rate is not None
    assert biased.first_rate > 0.75
    assert fair.advantage_fidelity is not None
    assert fair.advantage_fidelity > 0.9  # both orders, fitted


def test_a_constant_judge_is_dead_everywhere_and_failures_are_a_rate_and_not_a_score():
    (one,) = figures(*(record(group, "j", {"scores": dict.fromkeys(gold_of(group), 5)}) for group in GROUPS))
    assert one.dead_groups == one.groups == 120
    assert (one.advantage_fidelity, one.tie_rate, one.sign_error) == (0.0, 1.0, 0.5)
    (one,) = figures(
        *(record(group, "j", {"scores": gold_of(group)} if n % 2 else None) for n, group in enumerate(GROUPS))
    )
    assert (one.failure_rate, one.groups, one.advantage_fidelity) == (0.5, 60, pytest.approx(1))


def test_a_taste_for_length_shows_where_there_are_texts():
    texts = groups(30, names=("a", "b", "c"))
    for n, one in enumerate(texts):
        for k, member in enumerate(one["trajectories"]):
            member["messages"] = [{"role": "assistant", "content": "x" * (1 + (7 * n + 3 * k) % 10)}]
    said = [
        record(one, "j", {"scores": {m["id"]: len(m["messages"][0]["content"]) for m in one["trajectories"]}})
        for one in texts
    ]
    (found,) = figures(*said, of=texts)
    assert found.length_preference == pytest.approx(1)
    assert found.gold_length_preference is not None
    assert abs(found.gold_length_preference) < 0.9


SIXTY = GROUPS[:60]


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
    names = {"vllm/a@http://x/v1": "vllm/a"}
    a = "vllm/a@http://x/v1"
    clear, unclear = (0.06, 0.16), (-0.02, 0.05)
    both = difference_lines(
        [pair(a, "b", 0.113, clear), pair(a, "c", 0.01, unclear), pair("c", "b", 0.1, clear)], names
    )
    assert both == [
        "vllm/a - b  +0.113 [+0.060, +0.160] on 40 groups",
        "vllm/a - c  +0.010 [-0.020, +0.050] on 40 groups",
        "vllm/a agrees better with gold than b; these groups do not show that it does than c.",
    ]
    assert difference_lines([pair(a, "b", 0.1, clear)], names)[-1] == "vllm/a agrees better with gold than b."
    assert difference_lines([pair(a, "b", 0.0, unclear)], names)[-1] == (
        "These 40 groups do not show which of vllm/a and b agrees best with gold."
    )
    assert difference_lines([], names) == []
    modes = difference_lines([pair(a, "b", 0.1, clear, asked="pairwise")], names)
    assert modes[-1] == "vllm/a (pairwise) agrees better with gold than b (m)."
