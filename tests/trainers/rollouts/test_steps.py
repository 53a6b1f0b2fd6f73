"""A trainer's step as a group records it, and never as a judge reads it."""

from typing import Any

import numpy as np
import pytest

from calipers.trainers.rollouts.steps import step_fields, updates_before
from calipers.trainers.verl.rows import step_of_row


@pytest.mark.parametrize("step", [0, 7, np.int64(7)])
def test_a_step_is_a_whole_number(step: Any):
    assert step_fields(step) == {"step": int(step)}
    assert type(step_fields(step)["step"]) is int
    assert step_fields(step, training=True) == {"step": int(step)}
    assert step_fields(step, training=False) == {"step": int(step), "split": "held_out"}


@pytest.mark.parametrize("step", [None, -1, True, 1.5, "7"])
def test_what_is_no_step_is_not_recorded(step: Any):
    assert step_fields(step, training=False) == {}


def test_verl_counts_its_steps_from_one_and_validates_after_the_update():
    assert [updates_before(step, validate=False) for step in (0, 1, 2)] == [0, 0, 1]
    assert [updates_before(step, validate=True) for step in (0, 1, 2)] == [0, 1, 2]
    assert step_of_row({"global_steps": 5}, validate=False) == {"step": 4}
    assert step_of_row({"global_steps": 5}, validate=True) == {"step": 5, "split": "held_out"}
    assert step_of_row({}, validate=False) == {}
