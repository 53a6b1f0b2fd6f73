"""Weights of advantages: the root of the reliability, 1 where it is unknown, and no weight that is not a number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from calipers.errors import ConfigError
from calipers.trainers.rewards import (
    is_noise_alone,
    reliability_weight,
    row_weights,
    undone_by_division,
    weights_without_effect,
)
from calipers.types import GroupResult, Reliability, TrajectoryResult

ROWS = tuple(TrajectoryResult(name, "scored", 0.5, 0.5) for name in "abc")


def result(value: float | None, basis: Any = "repeats") -> GroupResult:
    return GroupResult("g", "scored", ROWS, reliability=Reliability(value, None, basis))


def test_the_weight_is_the_root_of_the_reliability_and_1_where_that_is_not_estimated() -> None:
    assert reliability_weight(result(0.25)) == 0.5
    assert reliability_weight(result(0.25, "learned")) == 0.5
    assert reliability_weight(result(0.0)) == 0.0
    assert reliability_weight(result(1.0)) == 1.0
    assert reliability_weight(result(0.25, "assumed")) == 1.0
    assert reliability_weight(GroupResult("g", "failed", ())) == 1.0


def test_every_row_has_its_groups_weight() -> None:
    assert row_weights([result(0.25), result(None, "unknown")], reliability_weight) == [0.5] * 3 + [1.0] * 3
    assert row_weights([], reliability_weight) == []


@pytest.mark.parametrize("weight", [
    -0.1, math.inf, math.nan, None, "1", True, 10**400, pytest.param(10**5000, id="long"), 1e39,
    np.float32("nan"), np.bool_(True), np.ones(1),
])  # fmt: skip
def test_a_weight_of_a_users_own_that_is_no_number_is_an_error_that_names_the_group(weight: Any) -> None:
    with pytest.raises(ConfigError, match=r"the weight of group 'g' is .*: it must be a finite number"):
        row_weights([result(0.5)], lambda _: weight)


@pytest.mark.parametrize("weight", [3, 3.0, np.float32(3), np.int64(3), np.array(3)])
def test_a_weight_of_a_users_own_may_be_above_1_and_of_any_type_of_number(weight: Any) -> None:
    found = row_weights([result(0.5)], lambda _: weight)[0]
    assert type(found) is float
    assert found == 3.0


def test_a_group_that_could_not_be_judged_has_the_weight_1_and_no_hook_is_asked() -> None:
    asked: list[str] = []

    def weigh(one: GroupResult) -> float:
        asked.append(one.group_id)
        return 0.5

    unjudged = [GroupResult("f", "failed", ROWS), GroupResult("a", "abstained", ROWS)]
    assert row_weights([*unjudged, result(0.25)], weigh) == [1.0] * 6 + [0.5] * 3
    assert asked == ["g"]


def test_noise_alone_is_an_estimated_reliability_of_0_and_never_an_unknown_one() -> None:
    assert is_noise_alone(result(0.0))
    assert is_noise_alone(result(0.0, "learned"))
    assert not is_noise_alone(result(0.01))
    assert not is_noise_alone(result(0.0, "assumed"))
    assert not is_noise_alone(result(None, "unknown"))
    assert not is_noise_alone(GroupResult("g", "failed", ()))


def test_what_division_undoes_is_said_with_what_is_left() -> None:
    assert undone_by_division("rank", instead="") is None
    assert "and 0 where their reliability is 0. Do" in str(undone_by_division("weighted", instead="Do."))


def test_weights_that_are_all_1_because_nothing_is_known_are_said() -> None:
    assert "have no effect" in str(weights_without_effect([result(None, "unknown"), result(0.4, "assumed")]))
    assert weights_without_effect([result(None, "unknown"), result(0.4)]) is None
    assert weights_without_effect([result(None, "unknown")], lambda _: 0.5) is None, "a user's own may rest on else"
