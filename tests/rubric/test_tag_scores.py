"""HealthBench's scores by tag, and the figure of a whole data set."""

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


def figures(*examples: GradedExample) -> dict[str, tuple[int, int, float | None]]:
    """Graded, ungraded and the mean of each tag."""
    return {tag: (one.graded, one.ungraded, one.mean) for tag, one in tag_scores(examples).items()}


def test_a_tag_scores_its_own_criteria_and_a_mean_is_clipped_only_as_a_mean() -> None:
    found = figures(graded("ab", "theme:x"), graded("bc", "theme:x", "theme:y"))
    assert list(found) == ["overall", "axis:accuracy", "axis:completeness", "theme:x", "theme:y"]
    assert found == {  # no positive points have the tag level:example
        "overall": (2, 0, pytest.approx((1 - 0.4) / 2)), "axis:accuracy": (2, 0, 0.0),
        "axis:completeness": (2, 0, 0.5), "theme:x": (2, 0, pytest.approx(0.3)), "theme:y": (1, 0, 0.0),
    }  # fmt: skip
    assert tag_scores([]) == {}


def test_an_open_criterion_leaves_other_tags_scored() -> None:
    assert figures(graded("ab?c")) == {
        "overall": (0, 1, None), "axis:accuracy": (0, 1, None), "axis:completeness": (1, 0, 1.0),
    }  # fmt: skip


def test_a_tag_of_example_and_criteria_counts_once_and_one_called_overall_is_apart_from_the_score_of_all() -> None:
    found = figures(graded("a", "axis:accuracy", "axis:accuracy", "axis:completeness"))
    assert (found["axis:accuracy"], found["axis:completeness"]) == ((1, 0, 0.0), (1, 0, 1.0))
    tagged = figures(graded("ab", "overall"), graded(""))
    assert next(iter(tagged)) == "overall"
    assert tagged["overall"] == figures(graded("ab"), graded(""))["overall"]
    assert tagged["overall (tag)"][0] == 1


def test_the_mean_of_a_data_set_is_clipped_and_its_examples_are_not_and_ungraded_ones_are_never_zero() -> None:
    assert dataset_score([1.0, -0.5]).mean == pytest.approx(0.25)
    assert dataset_score([-1.0, 0.5]).mean == 0.0
    assert dataset_score([-1.0] * 20).stderr == 0.0  # clipping takes spread away
    assert dataset_score([0.5, None, 0.5]) == DatasetScore(0.5, 0.0, 2, 1)
    assert dataset_score([None, None]) == DatasetScore(None, None, 0, 2)


def test_the_bootstrap_deviation_is_that_of_the_mean_and_repeats() -> None:
    generator = random.Random(1)
    scores = [generator.gauss(0.5, 0.2) for _ in range(400)]
    found = dataset_score(scores)
    assert found.stderr == pytest.approx(0.2 / 20, rel=0.15)
    assert dataset_score(scores) == found
    assert dataset_score(scores, seed=1).stderr != found.stderr
