"""What written criteria cost: calls, and characters sent for each group, by protocol, on recorded groups.

    python -m benchmarks.speed.criteria

Groups of GSM8K answers (gsm8k_groups) and of answers to open questions (openqa301: ehsk/OpenQA-eval), read from
``CALIPERS_DATA``. The writer is a script that writes the same five criteria for every prompt, so the numbers are those
of the questions; what a real writer answers, and what criteria bring, they do not show.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from typing import Any

from benchmarks.environment import recorded_data
from calipers import Judge
from calipers.inputs import read_groups
from calipers.types import Completion, JudgeRequest, TrajectoryGroup, Usage

SETS = ("gsm8k_groups", "openqa301")
MOST = 200
FIVE = [
    {"text": text, "points": points, "veto": False}
    for text, points in (
        ("States the final result that the task asks for, with the value and the unit that it needs.", 5),
        ("Names the quantity given in the second sentence and uses it where it belongs in the reasoning.", 4),
        ("Checks the outcome against a bound that follows from what is known before any calculation.", 3),
        ("Explains why the tempting alternative is wrong, or at least does not fall into that trap.", 2),
        ("Claims a fact about a person or place that the task neither contains nor implies.", -4),
    )
]


class Counting:
    """A judge that also writes criteria: it counts the calls and the characters that it is sent, of either kind."""

    endpoint = "counting"
    model = "scripted"

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.characters: Counter[str] = Counter()

    async def complete(self, request: JudgeRequest) -> Completion:
        """Answer with criteria, scores or verdicts, as the question wants."""
        kind = "writer" if request.ask.cause == "criteria" else "judge"
        size = sum(len(message["content"]) for message in request.messages)
        self.calls[kind] += 1
        self.characters[kind] += size
        return Completion(json.dumps(_reply(kind, request)), usage=Usage(size // 4, 100))


def _reply(kind: str, request: JudgeRequest) -> dict[str, Any]:
    if kind == "writer":
        return {"criteria": FIVE}
    names = dict(request.schema or {})["properties"]
    if "scores" in names:
        return {"scores": {key: 10 * place for place, key in enumerate(request.keys)}}
    return {name: {"reason": "so it is", "met": True} for name in names}


async def judged(groups: list[TrajectoryGroup], **options: Any) -> Counting:
    """Judge the groups, and return what it took."""
    counting = Counting()
    judge = Judge(counting, **options)
    async for _ in judge.score_groups(groups):
        pass
    return counting


def main() -> int:
    """Print a row for each recorded set and protocol."""
    if not recorded_data().is_dir():
        print(f"no recorded data at {recorded_data()}: set CALIPERS_DATA")
        return 1
    print("characters sent for each group; calls in brackets")
    for name in SETS:
        groups = list(read_groups(recorded_data() / name / "groups.jsonl.gz"))[:MOST]
        for protocol in ("listwise", "pointwise", "checklist"):
            own = {"rubric": [{"text": one["text"], "points": one["points"]} for one in FIVE]}
            plain = asyncio.run(judged(groups, protocol=protocol, **(own if protocol == "checklist" else {})))
            found = asyncio.run(judged(groups, protocol=protocol, criteria="auto"))
            count = len(groups)
            row = "  ".join(
                f"{title} {one.characters[kind] / count:,.0f} [{one.calls[kind] / count:g}]"
                for title, one, kind in (
                    ("without", plain, "judge"), ("with", found, "judge"), ("writer", found, "writer"),
                )
            )  # fmt: skip
            print(f"{name:13} {protocol:9} {count} groups: {row}")
    eight = list(read_groups(recorded_data() / SETS[0] / "groups.jsonl.gz"))[:50] * 8
    found = asyncio.run(judged(eight, criteria="auto"))
    print(
        f"50 prompts, 8 groups each: {found.calls['writer']} calls of the writer, {found.calls['judge']} of the judge"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
