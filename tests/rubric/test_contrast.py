"""Points that follow the verdicts: sums kept, changes bounded, unknowns never counted, and nothing made of nothing."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.rubric import as_rubric
from calipers.rubric.contrast import contrast_rubric, why_no_contrast
from calipers.rubric.formulas import graded
from calipers.rubric.grading import Grading, as_grading
from calipers.types import Criterion, Rubric

BY_AXIS = Grading(weights="contrast", weights_category="axis")
CONTRAST = Grading(weights="contrast")
POINTS = st.one_of(
    st.floats(0.1, 100), st.floats(-100, -0.1), st.sampled_from([0.0, 1e160, -1e160, 1e-100, -1e-100, 1.0])
)


@st.composite
def groups(draw: Any) -> tuple[Rubric, list[dict[str, list[float]]], Grading]:
    points = draw(st.lists(POINTS, min_size=1, max_size=7))
    axes = draw(st.lists(st.sampled_from(["axis:a", "axis:b"]), min_size=len(points), max_size=len(points)))
    rules = draw(st.lists(st.booleans(), min_size=len(points), max_size=len(points)))
    rubric = Rubric(tuple(
        Criterion(f"c{k}", "...", one, (axis, "other"), rule={"r": {}} if rule else None)
        for k, (one, axis, rule) in enumerate(zip(points, axes, rules, strict=True))
    ))  # fmt: skip
    cell = st.lists(st.sampled_from([0.0, 1.0, 0.5]), max_size=2)
    row = st.fixed_dictionaries({f"c{k}": cell for k in range(len(points))})
    verdicts = draw(st.lists(row, min_size=1, max_size=9))
    cap, noise = draw(st.sampled_from([1.1, 2.0, 100.0])), draw(st.sampled_from([0.0, 0.1, 0.49]))
    return rubric, verdicts, Grading(weights="contrast", weights_category="axis", weights_cap=cap, weights_noise=noise)


def points(rubric: Rubric) -> dict[str, float]:
    return {one.id: one.points for one in rubric.criteria}


@given(groups())
def test_each_category_keeps_its_sum_of_positive_and_of_negative_points(drawn: Any) -> None:
    rubric, verdicts, grading = drawn
    moved = contrast_rubric(rubric, verdicts, grading)
    for axis in ("axis:a", "axis:b"):
        for sign in (1, -1):
            before, after = (
                math.fsum(c.points for c in one.criteria if axis in c.tags and c.points * sign > 0)
                for one in (rubric, moved)
            )
            assert after == pytest.approx(before, rel=1e-9)


@given(groups())
def test_no_points_change_by_more_than_the_cap_or_change_sign(drawn: Any) -> None:
    rubric, verdicts, grading = drawn
    before, after = points(rubric), points(contrast_rubric(rubric, verdicts, grading))
    for name, human in before.items():
        assert (after[name] == 0) == (human == 0)
        if human:
            assert 1 / grading.weights_cap * (1 - 1e-12) <= after[name] / human <= grading.weights_cap * (1 + 1e-12)


@given(groups(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_and_criteria_does_not_matter(drawn: Any, random: Any) -> None:
    rubric, verdicts, grading = drawn
    criteria, rows = list(rubric.criteria), list(verdicts)
    random.shuffle(criteria)
    random.shuffle(rows)
    assert points(contrast_rubric(Rubric(tuple(criteria)), rows, grading)) == points(
        contrast_rubric(rubric, verdicts, grading)
    )


@given(groups(), st.sampled_from([0.0, 1.0]))
def test_without_differences_between_candidates_human_points_stay(drawn: Any, met: float) -> None:
    rubric, verdicts, grading = drawn
    alike = [{one.id: [met] for one in rubric.criteria}] * len(verdicts)
    assert contrast_rubric(rubric, alike, grading) == rubric


@given(groups())
def test_a_criterion_with_few_verdicts_keeps_its_points_and_moves_no_others(drawn: Any) -> None:
    rubric, verdicts, grading = drawn
    lost = rubric.criteria[0].id
    rows = [{name: row for name, row in one.items() if name != lost} for one in verdicts]
    moved = points(contrast_rubric(rubric, rows, grading))
    assert moved[lost] == rubric.criteria[0].points
    rest = Rubric(rubric.criteria[1:])
    assert {name: one for name, one in moved.items() if name != lost} == points(contrast_rubric(rest, rows, grading))


def rows(**met: str) -> list[dict[str, list[float]]]:
    """Verdicts of one grading, a character for each candidate: 1, 0, or ? for unknown."""
    size = len(next(iter(met.values())))
    return [{name: [float(one[i])] for name, one in met.items() if one[i] != "?"} for i in range(size)]


TWO = as_rubric([{"id": "a", "text": "a", "points": 4}, {"id": "b", "text": "b", "points": 4}])


def test_what_separates_candidates_gets_points_of_what_does_not() -> None:
    grading = Grading(weights="contrast", weights_noise=0.0)
    moved = points(contrast_rubric(TWO, rows(a="11110000", b="11111111"), grading))
    # variances 2/7 and 0 over 7 degrees of freedom; the prior is 1/4 with weight 4: 3/11 and 1/11, so 3 to 1
    assert moved == pytest.approx({"a": 6.0, "b": 2.0})


def test_one_dissent_moves_few_points_and_none_where_noise_explains_it() -> None:
    moved = points(contrast_rubric(TWO, rows(a="11111110", b="11111111"), CONTRAST))
    assert 4 < moved["a"] < 4.8
    unmoved = contrast_rubric(TWO, rows(a="1" * 15 + "0", b="1" * 16), CONTRAST)
    assert unmoved == TWO  # a variance of 1/16 is less than the 0.09 that errors alone would make


def test_an_unknown_verdict_is_not_counted_as_not_met() -> None:
    assert contrast_rubric(TWO, rows(a="1111111?", b="11111111"), CONTRAST) == TWO
    assert contrast_rubric(TWO, rows(a="110?????", b="11111111"), CONTRAST) == TWO  # too few verdicts


def test_repeated_gradings_are_less_noisy_and_a_rule_is_not_noisy_at_all() -> None:
    once = rows(a="11111100", b="11111111")
    twice = [{name: found * 2 for name, found in row.items()} for row in once]
    ruled = as_rubric([{"id": "a", "text": "a", "points": 4, "rule": {"word_count": {"at_most": 4}}},
                       {"id": "b", "text": "b", "points": 4}])  # fmt: skip
    moved = [points(contrast_rubric(TWO, found, CONTRAST))["a"] for found in (once, twice)]
    assert moved[0] < moved[1]
    assert points(contrast_rubric(ruled, once, CONTRAST))["a"] < moved[1]  # its variance is not scaled up for errors


@pytest.mark.parametrize(("tags", "found"), [([], 0), (["axis:a", "axis:b"], 2), (["axis"], 0)])
def test_categories_must_be_a_partition(tags: list[str], found: int) -> None:
    rubric = as_rubric([{"text": "x", "tags": ["axis:a"]}, {"text": "y", "tags": tags}])
    assert f"criterion 'c2' has {found} tags 'axis:...'" in str(why_no_contrast(rubric, BY_AXIS))
    assert why_no_contrast(rubric, CONTRAST) is None
    assert why_no_contrast(rubric, Grading()) is None


def test_points_that_are_too_far_apart_are_refused_before_anything_overflows() -> None:
    assert "differ too much" in str(why_no_contrast(as_rubric([{"text": "x", "points": 5e-324}]), CONTRAST))
    far = as_rubric([{"text": "x", "points": 1e154}, {"text": "y", "points": 6e-155}, {"text": "z", "points": 0}])
    assert "differ too much" in str(why_no_contrast(far, CONTRAST))


@pytest.mark.parametrize(("fields", "problem"), [
    ({"weights": "pow3r"}, "one of human, contrast"),
    ({"weights_cap": 3}, "weights_cap needs weights='contrast'"),
    ({"weights_category": "axis"}, "weights_category needs weights='contrast'"),
    ({"weights": "contrast", "weights_category": 3}, "key of a tag"),
    ({"weights": "contrast", "weights_cap": 1}, "above 1, at most 100"),
    ({"weights": "contrast", "weights_cap": float("nan")}, "above 1, at most 100"),
    ({"weights": "contrast", "weights_noise": 0.5}, "below 0.5"),
    ({"weights": "contrast", "weights_noise": "low"}, "below 0.5"),
    ({"weights": "contrast", "normaliser": "all_or_nothing"}, "'all_or_nothing', which has no points"),
    ({"weights": "contrast", "normaliser": "fraction"}, "'fraction', which has no points"),
    ({"weights": "contrast", "mode": "holistic"}, "'rar_implicit', which has no points"),
])  # fmt: skip
def test_settings_without_meaning_are_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match="grading: ") as raised:
        as_grading(fields)
    assert problem in str(raised.value)


def test_runs_record_the_fields_only_where_they_are_in_use() -> None:
    assert not any(name.startswith("weights") for name in Grading().to_dict())
    assert Grading(**BY_AXIS.to_dict()) == BY_AXIS


def test_the_best_possible_score_stays_one() -> None:
    moved = contrast_rubric(TWO, rows(a="1100", b="1110"), CONTRAST)
    assert graded(moved, {"a": True, "b": True}).value == 1.0
