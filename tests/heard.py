"""What an observer sees of a judge, kept for tests to look at."""

from __future__ import annotations

from calipers.types import Canary, Completion, JudgeRequest, Reading


class Heard:
    """Keeps what an observer sees."""

    def __init__(self) -> None:
        self.events: list[tuple[JudgeRequest, Reading]] = []

    def __call__(self, request: JudgeRequest, completion: Completion, reading: Reading) -> None:
        self.events.append((request, reading))

    @property
    def canaries(self) -> list[Canary]:
        return [reading.canary for _, reading in self.events if reading.canary is not None]
