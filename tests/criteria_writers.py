"""A judge that also writes criteria as scripted, and groups of prompts, for tests of written criteria."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from calipers.errors import BackendError
from calipers.protocols.question import EVIDENCE
from calipers.testing import SimulatedJudge
from calipers.types import Completion, JudgeRequest, Usage
from grading import Grader

ANSWERS = {"good": 0.9, "fair": 0.5, "poor": 0.1}
GOOD = ({"text": "States that the product is 42.", "points": 6, "veto": True},
        {"text": "Shows how the product is computed.", "points": 3, "veto": False},
        {"text": "Invents a unit.", "points": -4, "veto": False})  # fmt: skip

Reply = str | BackendError | Callable[[JudgeRequest], str]


def criteria(*entries: Any) -> str:
    return json.dumps({"criteria": list(entries or GOOD)})


class Writer:
    """A backend that writes criteria: the replies in order, the last one for good. ``asked`` keeps its questions."""

    endpoint = "writer"
    model = "scripted"

    def __init__(self, *replies: Reply) -> None:
        self.asked: list[JudgeRequest] = []
        self._replies: Sequence[Reply] = replies or (criteria(),)

    async def complete(self, request: JudgeRequest) -> Completion:
        reply = self._replies[min(len(self.asked), len(self._replies) - 1)]
        self.asked.append(request)
        if isinstance(reply, BackendError):
            raise reply
        return Completion(reply if isinstance(reply, str) else reply(request), usage=Usage(300, 60, 0, 0.01))


class Both(SimulatedJudge):
    """A judge that scores by quality, and writes the criteria itself."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__(dict(ANSWERS))
        self.writer = Writer(*replies)
        self.scored: list[JudgeRequest] = []

    async def complete(self, request: JudgeRequest) -> Completion:
        if request.ask.cause == "criteria":
            return await self.writer.complete(request)
        self.scored.append(request)
        return await super().complete(request)


class BothGrading(Grader):
    """A judge of criteria that are all met by ``good`` alone, which writes the criteria itself."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__(lambda name, _: name == "good")
        self.writer = Writer(*replies)

    async def complete(self, request: JudgeRequest) -> Completion:
        if request.ask.cause == "criteria":
            return await self.writer.complete(request)
        return await super().complete(request)


def group(number: int = 0, prompt: str = "What is 6 * 7?", **more: Any) -> dict[str, Any]:
    members = [
        {"id": name, "messages": [{"role": "assistant", "content": f"Attempt {number} is {name}, zebra quince."}]}
        for name in ANSWERS
    ]
    return {"group_id": f"g{number}", "context": [{"role": "user", "content": prompt}], "trajectories": members} | more


def standards(request: JudgeRequest) -> str:
    return str(request.messages[0]["content"]).partition("Standards:\n")[2].partition(f"\n\n{EVIDENCE}")[0]
