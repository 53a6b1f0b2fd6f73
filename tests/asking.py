"""Questions for simulated judges: listwise requests about made-up candidates, and what the replies say."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from calipers.interfaces import Backend
from calipers.testing import Question
from calipers.types import Ask, Candidate, JudgeRequest, RenderedGroup

IDS = ("a", "b", "c", "d")


def view(texts: Sequence[str] = (), *, ids: Sequence[str] = IDS, group_id: str = "g") -> RenderedGroup:
    """A group of one candidate per id; ``texts`` are their answers, after one prompt they share."""
    texts = texts or [f"answer of {name}" for name in ids]
    prompt = {"role": "user", "content": "the task, which all share"}
    candidates = tuple(
        Candidate((place,), (prompt, {"role": "assistant", "content": text}), (text,))
        for place, text in enumerate(texts)
    )
    return RenderedGroup(group_id, tuple(ids), "00", "|", ("the task",), candidates, prefix_length=1)


def request(
    shown: RenderedGroup | None = None, *, order: Sequence[int] | None = None, sample: int = 0, max_tokens: int = 8192
) -> JudgeRequest:
    """A question about ``shown`` in ``order``, whose keys name neither ids nor places."""
    group = shown or view()
    places = tuple(range(len(group.candidates))) if order is None else tuple(order)
    keys = tuple(f"K{'QXZWVJ'[place % 6]}{place}" for place in range(len(places)))
    text = f"{group.group_id}: rate {[group.candidates[item].body for item in places]} as {keys}"
    ask = Ask(0, places, places, sample=sample)
    return JudgeRequest(({"role": "user", "content": text},), keys, ask, group, max_tokens=max_tokens)


def question(asked: JudgeRequest | None = None, *, seed: int = 0, call: int = 0, attempt: int = 0) -> Question:
    return Question(asked or request(), seed, call, attempt, "test")


async def scores(judge: Backend, asked: JudgeRequest) -> list[float]:
    """What a clean reply gives each candidate, in the order shown."""
    given = json.loads((await judge.complete(asked)).text)["scores"]
    return [given[key] for key in asked.keys]


def near_share(count: int, total: int, share: float) -> bool:
    """Whether so many of ``total`` draws are within four standard deviations of their expected share."""
    return abs(count / total - share) < 4 * math.sqrt(share * (1 - share) / total)
