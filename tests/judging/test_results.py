"""What the statuses of the trajectories make of their group's."""

import itertools

import pytest

from calipers.judging.results import group_status
from calipers.types import TrajectoryResult, TrajectoryStatus


def status_of(*statuses: TrajectoryStatus) -> str:
    rewards = [0.5 if status == "scored" else None for status in statuses]
    reasons = [None if status == "scored" else "why" for status in statuses]
    return group_status(
        [
            TrajectoryResult(str(number), status, reward, reward, reason=reason)
            for number, (status, reward, reason) in enumerate(zip(statuses, rewards, reasons, strict=True))
        ]
    )


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (("scored", "scored"), "scored"),
        (("abstained", "abstained"), "abstained"),
        (("failed", "failed"), "failed"),
        (("scored", "abstained"), "partial"),
        (("scored", "failed"), "partial"),
        (("scored", "abstained", "failed"), "partial"),
        (("abstained", "failed"), "abstained"),  # the judge worked: it had its say about one of them
        ((), "scored"),
    ],
)
def test_a_groups_status_follows_from_its_trajectories_in_any_order(
    statuses: tuple[TrajectoryStatus, ...], expected: str
) -> None:
    for order in itertools.permutations(statuses):
        assert status_of(*order) == expected
