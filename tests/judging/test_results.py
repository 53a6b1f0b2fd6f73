"""What the statuses of the trajectories make of their group's."""

import itertools

import pytest

import calipers
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


async def test_rollouts_of_different_prompts_in_one_group_are_warned_about() -> None:
    def rollout(prompt: str, answer: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]

    for second, is_warned in (("6*7?", False), ("5*5?", True)):
        result = await calipers.score_group([rollout("6*7?", "42"), rollout(second, "25")], judge="embedded")
        assert any("the prompts of '1' and '2' differ" in line for line in result.warnings) is is_warned
