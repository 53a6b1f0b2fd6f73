"""Replies as judges really write them, and as attackers would like them to, with what a careful reader extracts; and
texts meant to make a reader slow.

Written for calipers: ``fixtures/zoo.jsonl`` has a reply a line; no scores means that nothing may be read. Ids are 1, 2
and 3 on 0-1 unless the line has its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

VERDICT = (
    '{"scores": [{"trajectory_id": "1", "explanation": "ok", "score": 0.9}, {"trajectory_id": "2", "explanation": '
    '"so-so", "score": 0.4}, {"trajectory_id": "3", "explanation": "bad", "score": 0.1}]}'
)
_LONG = 400_000
_REPEATED = (
    *'[{":|<(-_\n\t\\9,.\u200b｛😀',
    '{"a":', '{"a":1},', '{"id":"1","score":0.5}', '{"a":/*', "{/*", '{"a":1,//', "{#", "x,", "a:b,", "x\n", "it's ",
    '" x', '", b', '"}', "[1", "[1,", '{["', '{"a" "b" ', '{"score" ', '{"a":1 zz {', '{\\"', "{}, ", '"ab",', "0.",
    "```", "```json\n", "Trajectory 1: 0.9\n", "Trajectory ", "Trajectory 1 gets ", "| 1 | 0.5 |\n",
    " \n", "- id: 1\n  score: 0.5\n", "score: 0.5 ", "Score: ", "0.5 ", "1: ", "1=1,", "(1", "x{ ", "final\n",
    "| id | score |\n", "a: b\n", '<trajectory id="1">', "<a id=", "<answer>", "<think>", "</think>", "&quot;",
    "draft " + VERDICT, VERDICT,
)  # fmt: skip
_OPENINGS = ("", '{"a":"', '{"scores":[{"trajectory_id":"1","explanation":"')


def replies() -> Iterator[tuple[str, tuple[str, ...], tuple[float, float], dict[str, float]]]:
    """The text of each reply, the ids asked for, their scale, and the scores that a careful reader takes."""
    file = Path(__file__).parent / "fixtures" / "zoo.jsonl"
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        low, high = row.get("scale", (0, 1))
        yield row["text"], tuple(row.get("ids", ("1", "2", "3"))), (low, high), row["scores"]


def hostile() -> Iterator[tuple[str, str]]:
    """A name and a text of each kind that repeats something for long, alone or in something that was opened."""
    for opening in _OPENINGS:
        for unit in _REPEATED:
            yield f"{opening}{unit[:20]}", opening + unit * (_LONG // len(unit))
    yield "keys", "{" + ",".join(f'"k{number}":{number}' for number in range(70_000)) + "}"
    yield "one key", "{" + ",".join(f'"1":0.{number}' for number in range(70_000)) + "}"
    yield "nested", "[" * 5000 + "]" * 5000
    yield "exponent", '{"1": 1e999999999}'
    yield "padded", "x" * _LONG + VERDICT
    yield "quoted", json.dumps(json.dumps(json.dumps(VERDICT)))
