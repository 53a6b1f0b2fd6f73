"""Groups of text as users have it, none of them twice: recorded agents and answers, and plain words.

The standard library only, for it also runs in the interpreter that has ART and not calipers. Recorded groups come from
``CALIPERS_DATA``; a group is used again with its digits exchanged, so that it keeps its size and its words and is still
another group.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

from benchmarks.environment import recorded_data
from benchmarks.sample_groups import sample_groups

RECORDED = ("tau2_airline", "taubench_airline", "gsm8k_groups")
_WORDS = ["find", "answer", "check", "verify", "price", "order"]
_DIGITS = "123456789"


def groups_of_text(text: str, count: int, *, seed: int = 0) -> Iterator[dict[str, Any]]:
    """``count`` groups in the groups file's form: ``prose``, ``tools``, ``words``, or the name of a recorded set."""
    if text == "words":
        return _of_words(count, seed=seed)
    if text in RECORDED:
        return _recorded(text, count, seed=seed)
    return sample_groups(count, seed=seed, tools=text == "tools")


def is_recorded(name: str) -> bool:
    """Whether the recorded set is on this machine."""
    return (recorded_data() / name / "groups.jsonl.gz").exists()


def agent_group(characters: int, members: int, *, number: int = 0) -> dict[str, Any]:
    """A group of ``members`` agent trajectories, together of about ``characters``, made of recorded messages."""
    rows = cycle(_rows("tau2_airline"))
    own = characters // members
    trajectories = []
    for member in range(members):
        messages: list[dict[str, Any]] = []
        size = 0
        while size < own:
            row = _changed(next(rows), number * members + member)
            for message in row["trajectories"][member % len(row["trajectories"])]["messages"]:
                messages.append(message)
                size += len(json.dumps(message))
                if size >= own:
                    break
        trajectories.append({"id": f"t{member}", "messages": messages})
    context = [{"role": "user", "content": f"Case {number}: please help me with my booking."}]
    return {"group_id": f"g{number}", "context": context, "trajectories": trajectories}


def _of_words(count: int, *, seed: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        draw = random.Random(seed * 1_000_003 + number)
        trajectories = [
            {"id": name, "messages": [{"role": "assistant", "content": " ".join(draw.choices(_WORDS, k=330))}]}
            for name in "abcd"
        ]
        context = [{"role": "user", "content": f"Case {seed}-{number}: {' '.join(draw.choices(_WORDS, k=20))}?"}]
        yield {"group_id": f"g{number}", "context": context, "trajectories": trajectories}


def _recorded(name: str, count: int, *, seed: int) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(islice(cycle(_rows(name)), count)):
        yield {**_changed(row, seed * 1_000_003 + number), "group_id": f"g{number}"}


def _rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(recorded_data() / name / "groups.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [
        {
            "context": row["context"],
            "trajectories": [
                {"id": f"t{place}", "messages": trajectory["messages"]}
                for place, trajectory in enumerate(row["trajectories"])
            ],
        }
        for row in rows
    ]


def _changed(row: dict[str, Any], number: int) -> dict[str, Any]:
    """A group with its digits exchanged; a zero stays, so that arguments stay JSON."""
    other = random.Random(number).sample(_DIGITS, len(_DIGITS))
    changed: dict[str, Any] = json.loads(
        json.dumps(row, ensure_ascii=False).translate(str.maketrans(_DIGITS, "".join(other)))
    )
    return changed
