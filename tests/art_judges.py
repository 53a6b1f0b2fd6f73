"""Judges for ART's tests that form their opinion from what a trajectory says: ``worth 80`` is worth 80 points.

Opinions that hang on content, not on a trajectory's place, show what a change of places does.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from calipers.types import Completion, JudgeRequest, Usage

_WORTH = re.compile(r"worth (\d+)")
Write = Callable[[Mapping[str, int], JudgeRequest], str]


def honest(opinions: Mapping[str, int], request: JudgeRequest) -> str:
    """The reply the question asks for."""
    return json.dumps({"explanations": {key: f"I like {key}" for key in opinions}, "scores": opinions})


def opinions(request: JudgeRequest) -> dict[str, int]:
    """What each candidate shown is worth, by its key; 50 where it does not say."""
    worth = {}
    for key, item in zip(request.keys, request.ask.order, strict=True):
        found = _WORTH.findall(repr(request.view.candidates[item].messages))
        worth[key] = int(found[-1]) if found else 50
    return worth


@dataclass(eq=False)
class ContentJudge:
    """Replies ``write(opinions, request)``, letting others run first; remembers what it was asked."""

    write: Write = honest
    usage: Usage = Usage(100, 10)
    endpoint: str = "content"
    model: str = "content"
    asked: list[JudgeRequest] = field(default_factory=list)

    async def complete(self, request: JudgeRequest) -> Completion:
        self.asked.append(request)
        for _ in range(3):
            await asyncio.sleep(0)
        return Completion(self.write(opinions(request), request), "stop", model="v1", usage=self.usage)

    @property
    def questions(self) -> list[str]:
        """The user messages so far."""
        return [str(request.messages[-1]["content"]) for request in self.asked]
