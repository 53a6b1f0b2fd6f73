"""Small groups for tests."""

from calipers.types import Trajectory, TrajectoryGroup


def group_of(answers: dict[str, str], *, group_id: str = "g", question: str = "What is 17 + 25?") -> TrajectoryGroup:
    """A group of one-message trajectories by id."""
    return TrajectoryGroup(
        group_id,
        tuple(Trajectory(name, ({"role": "assistant", "content": text},)) for name, text in answers.items()),
        context=({"role": "user", "content": question},),
    )


FOUR = {"right": "42", "close": "41", "far": "7", "silent": "I cannot add numbers."}
QUALITY = {"right": 0.9, "close": 0.5, "far": 0.2, "silent": 0.05}
