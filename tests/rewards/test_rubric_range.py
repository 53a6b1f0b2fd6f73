"""Rubric scores to rewards: within the range, and nothing clipped away."""

from calipers.rewards.rubric_range import RubricRange
from calipers.rubric import Grading, as_rubric
from calipers.types import RenderedGroup, Scores

MIXED = as_rubric([{"text": "a", "points": 4}, {"text": "b", "points": -2}])
POSITIVE = as_rubric(["a", "b"])


def rewards(values: list[float | None], *rubrics: object, **settings: object) -> tuple[float | None, ...]:
    view = RenderedGroup("g", (), "", "", (), (), rubrics=rubrics)  # type: ignore[arg-type]  # rubrics
    transform = RubricRange(**settings)  # type: ignore[arg-type]  # its settings
    return transform(Scores(tuple(values), (None,) * len(values)), view)


def test_the_worst_that_a_rubric_allows_is_the_low_end() -> None:
    assert rewards([-0.5, 0.25, 1.0, None], MIXED, MIXED, MIXED, MIXED) == (0.0, 0.5, 1.0, None)
    assert rewards([-0.5, 1.0], MIXED, MIXED, reward_range=(-1.0, 1.0)) == (-1.0, 1.0)
    assert rewards([0.0, 0.5, 1.0], POSITIVE, POSITIVE, POSITIVE) == (0.0, 0.5, 1.0)


def test_different_rubrics_in_a_group_share_one_scale() -> None:
    assert rewards([0.25, 0.25], MIXED, POSITIVE) == rewards([0.25, 0.25], POSITIVE, MIXED) == (0.5, 0.5)


def test_the_score_itself_where_that_is_asked_for() -> None:
    assert rewards([-0.5, None], MIXED, MIXED, grading=Grading(reward="score")) == (-0.5, None)
