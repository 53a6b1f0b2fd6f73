"""HealthBench's scores by tag."""

from __future__ import annotations

import random

import pytest

from calipers.rubric import Criterion, Rubric
from calipers.rubric.tag_scores import DatasetScore, GradedExample, dataset_score, tag_scores

RUBRIC = Rubric((
    Criterion("a", "Says when.", 6, ("axis:completeness",)),
    Criterion("b", "Is right.", 4, ("axis:accuracy",)),
    Criterion("c", "Invents.", -8, ("axis:accuracy", "level:example")),
))  # fmt: skip


def graded(met: str, *tags: str) -> GradedExample:
    """An example whose criteria named in ``met`` are met; after a "?", those without a verdict."""
    sure, _, unknown = met.partition("?")
    return GradedExample(RUBRIC, {name: None if name in unknown else name in sure for name in "abc"}, tags)


def test_a_tag_scores_its_own_criteria_and_a_mean_is_clipped_only_as_a_mean() -> None:
    scores = tag_scores([graded("ab", "theme:x"), graded("bc", "theme:x", "theme:y")])
    assert list(scores) == ["overall", "axis:accuracy", "axis:completeness", "theme:x", "theme:y"]
    assert scores["overall"].mean == pytest.approx((1 - 0.4) / 2)
    assert scores["axis:accuracy"].mean == 0.0  # (1 - 1) / 2
    assert scores["axis:completeness"].mean == 0.5
    assert scores["theme:y"].mean == 0.0
    assert "level:example" not in scores  # no positive points have this tag


def test_an_open_criterion_leaves_other_tags_scored() -> None:
    scores = tag_scores([graded("ab?c")])
    assert (scores["overall"].graded, scores["overall"].ungraded) == (0, 1)
    assert scores["axis:accuracy"].ungraded == 1
    assert scores["axis:completeness"].mean == 1.0


def test_a_tag_of_example_and_criteria_counts_once_by_the_criteria() -> None:
    scores = tag_scores([graded("a", "axis:accuracy", "axis:accuracy", "axis:completeness")])
    assert (scores["axis:accuracy"].graded, scores["axis:accuracy"].mean) == (1, 0.0)
    assert (scores["axis:completeness"].graded, scores["axis:completeness"].mean) == (1, 1.0)


def test_a_tag_called_overall_is_apart_from_the_score_of_all() -> None:
    tagged = tag_scores([graded("ab", "overall"), graded("")])
    assert next(iter(tagged)) == "overall"
    assert tagged["overall"] == tag_scores([graded("ab"), graded("")])["overall"]
    assert tagged["overall (tag)"].graded == 1


def test_nothing_is_no_score() -> None:
    assert tag_scores([]) == {}


# --- the figure of a whole data set


def test_the_mean_is_clipped_and_the_examples_are_not():
    assert dataset_score([1.0, -0.5]).mean == pytest.approx(0.25)
    assert dataset_score([-1.0, 0.5]).mean == 0.0


def test_ungraded_examples_are_told_and_never_counted_as_zero():
    assert dataset_score([0.5, None, 0.5]) == DatasetScore(0.5, 0.0, 2, 1)
    assert dataset_score([None, None]) == DatasetScore(None, None, 0, 2)


def test_the_bootstrap_deviation_is_that_of_the_mean_and_repeats():
    generator = random.Random(1)
    scores = [generator.gauss(0.5, 0.2) for _ in range(400)]
    found = dataset_score(scores)
    assert found.stderr == pytest.approx(0.2 / 20, rel=0.15)
    assert dataset_score(scores) == found
    assert dataset_score(scores, seed=1).stderr != found.stderr


def test_clipping_takes_spread_away():
    assert dataset_score([-1.0] * 20).stderr == 0.0
