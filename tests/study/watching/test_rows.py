"""A judged group as a row of a watched run: what is compared, and that unknown opinions are no numbers."""

from __future__ import annotations

from typing import Any

import pytest

from calipers.errors import InputError
from calipers.judging.audit import Opinion
from calipers.study.watching.rows import WatchedGroup, watched_group
from calipers.types import GroupResult, TrajectoryResult
from groups import group_of

TEXTS = {"a": "12345", "b": "1", "c": "123"}


def row(rewards: dict[str, float | None], **opinions: Opinion) -> WatchedGroup:
    members = tuple(
        TrajectoryResult(name, "scored" if reward is not None else "abstained", reward, reward)
        for name, reward in rewards.items()
    )
    result = GroupResult("g", "scored", members)
    return watched_group(group_of(TEXTS), result, step=7, split="train", opinions=opinions)


def test_rewards_are_compared_where_both_are_known() -> None:
    found = row({"a": 0.9, "b": 0.5, "c": None}, audit={"a": 0.5, "b": 0.3, "c": 1.0})
    assert (found.step, found.split, found.group, found.size) == (7, "train", "g", 3)
    assert found.reward == pytest.approx(0.7)
    assert found.missing == pytest.approx(1 / 3)
    assert found.characters == 3
    assert found.audit == pytest.approx(0.6)  # all that the audit judge scored
    assert found.audit_gap == pytest.approx(0.3)  # of a and b
    assert found.audit_fidelity == 1
    assert (found.truth, found.truth_gap, found.truth_fidelity) == (None, None, None)


@pytest.mark.parametrize(
    ("rewards", "truth", "fidelity"),
    [
        ({"a": 0.9, "b": 0.5, "c": 0.1}, {"a": 1.0, "b": 0.0, "c": 0.0}, 1.0),
        ({"a": 0.1, "b": 0.5, "c": 0.9}, {"a": 1.0, "b": 0.0, "c": 0.0}, -1.0),
        ({"a": 0.5, "b": 0.5, "c": 0.1}, {"a": 1.0, "b": 0.0, "c": 0.0}, 0.5),  # a tie is half a pair
        ({"a": 0.9, "b": 0.5, "c": 0.1}, {"a": 1.0, "b": 1.0, "c": 1.0}, None),
    ],
)
def test_fidelity_is_somers_d_within_the_group(
    rewards: dict[str, float | None], truth: Opinion, fidelity: float | None
) -> None:
    assert row(rewards, truth=truth).truth_fidelity == fidelity


def test_without_rewards_or_opinions_nothing_is_a_number() -> None:
    nothing: dict[str, float | None] = dict.fromkeys(TEXTS)
    found = row(nothing, audit={}, truth=dict.fromkeys(TEXTS))
    assert (found.reward, found.missing) == (None, 1)
    assert {getattr(found, f"{source}{end}") for source in ("audit", "truth") for end in ("", "_gap", "_fidelity")} == {
        None
    }


def test_a_row_is_read_back() -> None:
    found = row({"a": 0.9, "b": 0.5, "c": None}, audit={"a": 0.5, "b": 0.3, "c": 1.0})
    assert WatchedGroup.from_json(found.as_json()) == found


@pytest.mark.parametrize("broken", [{}, {"step": 1}])
def test_a_row_of_something_else_is_an_error(broken: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="is not a row of a watched run"):
        WatchedGroup.from_json(broken)
