"""A judge behind a real socket, for trainers' tests: an attempt that says ``worth 80`` is worth 80 points to it.

Opinions hang on what an attempt says, not on where it stands, so that a group without some of its members is scored as
before. What it never scores, and when it is down, is part of what a test states.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection

import calipers
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

_SHOWN = re.compile(r"candidate ([A-Z]+)\n(.*?)\n(?=@\w+ (?:candidate|end\n))", re.DOTALL)
_ASKED = re.compile(r"Score these attempts: ([A-Z, ]+)\.")
_WORTH = re.compile(r"worth (\d+)")


def worth(*, never: Collection[int] = (), down: str | None = None) -> Callable[[Asked], Answer]:
    """What the judge answers. Attempts worth one of ``never`` it never scores; of questions that hold ``down`` it
    fails.
    """

    def answer(asked: Asked) -> Answer:
        question = str(asked.body["messages"][-1]["content"])
        if down is not None and down in question:
            return error(400, "scripted: this question cannot be answered")
        points = {key: int(_WORTH.findall(body)[-1]) for key, body in _SHOWN.findall(question)}
        keys = _ASKED.findall(question)[-1].split(", ")
        scores = {key: points[key] for key in keys if points[key] not in never}
        return said(json.dumps({"explanations": dict.fromkeys(scores, "as it says"), "scores": scores}))

    return answer


def judge_at(server: FaultyServer, **settings: object) -> calipers.Judge:
    """A Judge that asks this server, once, without long waits."""
    return calipers.Judge.of(
        {"judge": "openai/judge", "base_url": server.url, "api_key": "k", "attempts": 1, **settings}
    )
