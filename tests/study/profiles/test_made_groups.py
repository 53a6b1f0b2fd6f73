"""Made groups: known quality, and features that do not depend on it."""

import numpy as np
import pytest

from calipers.calibration.series import Frame
from calipers.study.profiles.features import measure_features
from calipers.study.profiles.made_groups import made_groups


def test_equal_arguments_make_equal_groups_and_a_start_continues_them() -> None:
    assert made_groups(4, 3) == made_groups(4, 3)
    assert made_groups(4, 3)[2:] == made_groups(2, 3, start=2)
    assert made_groups(4, 3, seed=1) != made_groups(4, 3)


def test_answers_of_a_group_differ_and_gold_is_from_0_to_1() -> None:
    for group in made_groups(30, 8):
        assert len({one.messages[0]["content"] for one in group.trajectories}) == 8
        assert all(0 <= (one.gold or 0) <= 1 for one in group.trajectories)
    binary = {one.gold for group in made_groups(30, 8, gold="binary") for one in group.trajectories}
    assert binary == {0.0, 1.0}


@pytest.mark.parametrize("name", ["length", "markdown", "confidence", "flattery", "injection"])
def test_every_feature_varies_and_none_goes_with_gold(name: str) -> None:
    frame = Frame.of(made_groups(400, 6, attacked=0.1))
    values = measure_features(frame, "j")[name]
    assert values.std() > 0.2
    assert abs(np.corrcoef(values.ravel(), frame.gold.ravel())[0, 1]) < 4 / 2400**0.5


def test_only_as_many_are_attacked_as_asked_for() -> None:
    frame = Frame.of(made_groups(200, 6))
    assert measure_features(frame, "j")["injection"].sum() == 0
