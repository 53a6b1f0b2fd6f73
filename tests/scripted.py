"""A judge that gives prepared replies, in terms of the trajectories' ids."""

from __future__ import annotations

import json
from dataclasses import replace

from calipers.types import Completion, JudgeRequest, Usage


class Replies:
    """A backend that gives these replies in turn (the last one for ever); ``{right}`` stands for that id's key."""

    endpoint = "replies"

    def __init__(self, *replies: str | Completion | Exception, model: str = "fixed") -> None:
        self.model, self.replies = model, list(replies)
        self.requests: list[JudgeRequest] = []

    async def complete(self, request: JudgeRequest) -> Completion:
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        reply = reply if isinstance(reply, Completion) else Completion(reply, usage=Usage(100, 10))
        text = reply.text
        for key, item in zip(request.keys, request.ask.order, strict=True):
            text = text.replace(f"{{{request.view.ids[request.view.candidates[item].members[0]]}}}", key)
        return replace(reply, text=text)


def scores(**by_id: float) -> str:
    return json.dumps({"scores": {f"{{{name}}}": value for name, value in by_id.items()}})


WHOLE = scores(right=90, close=50, far=20, silent=5)
"""Scores of ``groups.FOUR`` that are ``groups.QUALITY``."""
