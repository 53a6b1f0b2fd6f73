"""The share of a group's questions that a server's prefix cache can hold: what they have in common at their beginning.

``python -m benchmarks.speed.prefix_cache GROUPS [--orders 2] [--samples 1] [--most 200]`` asks a judge that answers
nothing, keeps each question, and counts characters: for each question after a group's first, the longest beginning that
it has in common with an earlier question about the same group. A cache holds whole blocks of tokens (vLLM: 16 tokens),
so a server reuses slightly less. Not measured: whether the questions arrive while the cache still has them.
"""

from __future__ import annotations

import argparse
import asyncio
from itertools import islice

import calipers
from calipers.errors import PermanentError
from calipers.inputs import read_groups
from calipers.interfaces import FullBackend
from calipers.types import Completion, JudgeRequest


class Listener(FullBackend):
    """A judge that keeps every question by its group, in the order of arrival, and answers nothing."""

    endpoint, model = "listener", "listener"

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    async def complete(self, request: JudgeRequest) -> Completion:
        """Keep the question. Raises PermanentError."""
        text = "".join(f"{message['role']}\n{message['content']}\n" for message in request.messages)
        self.heard.append((request.view.group_id, text))
        raise PermanentError("refused", "this judge only listens")


async def _heard(path: str, orders: int, samples: int, most: int) -> list[tuple[str, str]]:
    listener = Listener()
    judge = calipers.Judge(listener, orders=orders, samples=samples)
    groups = islice(read_groups(path), most)
    async for _ in judge.score_groups(groups):
        pass
    return listener.heard


def _in_common(text: str, other: str) -> int:
    """Return the number of characters that two questions have in common at their beginning."""
    pairs = zip(text, other, strict=False)  # up to the end of the shorter one
    return next((at for at, (one, two) in enumerate(pairs) if one != two), min(len(text), len(other)))


def measured(heard: list[tuple[str, str]]) -> dict[str, float]:
    """Return shares of characters: of repeated questions, and of all; and how far apart a group's questions were."""
    earlier: dict[str, list[str]] = {}
    last: dict[str, int] = {}
    shared = repeated = total = 0
    apart: list[int] = []
    for number, (group, text) in enumerate(heard):
        total += len(text)
        before = earlier.setdefault(group, [])
        if before:
            repeated += len(text)
            shared += max(_in_common(text, one) for one in before)
            apart.append(number - last[group])
        before.append(text)
        last[group] = number
    return {
        "questions": len(heard),
        "characters a question": total / max(1, len(heard)),
        "of a repeated question": shared / repeated if repeated else 0.0,
        "of all questions": shared / total if total else 0.0,
        "questions in between": sum(apart) / len(apart) - 1 if apart else 0.0,
    }


def main() -> None:
    """Print the shares for a groups file."""
    parser = argparse.ArgumentParser(description="The share of a group's questions that a prefix cache can hold.")
    parser.add_argument("groups")
    parser.add_argument("--orders", type=int, default=2)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--most", type=int, default=200)
    given = parser.parse_args()
    for name, value in measured(asyncio.run(_heard(given.groups, given.orders, given.samples, given.most))).items():
        print(f"{name:<24} {value:,.3f}" if value < 1 else f"{name:<24} {value:,.1f}")


if __name__ == "__main__":
    main()
