"""A model that writes scenarios as asked: distinct texts made of a counter's words."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from calipers.interfaces import FullBackend
from calipers.types import Completion, JudgeRequest

_ASKED = re.compile(r'Write (\d+) inputs about the sub-topic "(.*?)",')
_LEVELS = ("easy", "medium", "hard")
_SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su")


def words(number: int) -> str:
    """Six invented words that two numbers do not share."""
    return " ".join("".join(_SYLLABLES[int(digit)] for digit in f"{number * 7 + place:06d}") for place in range(6))


class WritingModel(FullBackend):
    """Names ``topics`` and writes what is asked for; ``spoil`` maps a call's number to a reply of its own."""

    endpoint = "test"
    model = "writer"

    def __init__(self, topics: Sequence[str] = ("fares", "seats"), spoil: dict[int, str] | None = None) -> None:
        self.topics, self.spoil = topics, spoil or {}
        self.requests: list[JudgeRequest] = []
        self.written = 0

    async def complete(self, request: JudgeRequest) -> Completion:
        number = len(self.requests)
        self.requests.append(request)
        return Completion(
            self.spoil.get(number) or self._reply(str(request.messages[0]["content"])), finish_reason="stop"
        )

    def _reply(self, system: str) -> str:
        asked = _ASKED.search(system)
        if asked is None:
            return json.dumps({"topics": list(self.topics)})
        inputs: list[dict[str, Any]] = []
        for place in range(int(asked[1])):
            self.written += 1
            text, level = f"{words(self.written)}?", _LEVELS[place % 3]
            inputs.append({"difficulty": level, "text": text, "tools": ["refund", "no_such"]})
        return json.dumps({"inputs": inputs})
