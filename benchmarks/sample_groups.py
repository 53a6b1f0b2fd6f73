"""Groups to time with (four trajectories of about 2 kB, each group different from all others), and groups of known
quality.

The standard library only, for it also runs in the interpreter that has ART and not calipers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

PROSE = (
    "the order refund customer booking was checked against policy and total of 1,204 euros moved to Tuesday because "
    "carrier confirmed delivery address while agent explained options for economy cabin with insurance not included"
)
WORDS = PROSE.split()
SYSTEM = "You are an agent of a travel shop. Look things up before you answer, and keep to the refund policy."


def sample_groups(count: int, *, seed: int = 0, tools: bool = False) -> Iterator[dict[str, Any]]:
    """``count`` groups in the groups file's form, the same for the same arguments; ``tools`` makes a turn a tool's."""
    for number in range(count):
        attempt = _with_tool if tools else _in_talk
        draw = random.Random(seed * 1_000_003 + number)
        request = {"role": "user", "content": f"Case {seed}-{number}: {_text(draw, 30)}?"}
        yield {
            "group_id": f"g{number}",
            "context": [{"role": "system", "content": SYSTEM}, request],
            "trajectories": [{"id": name, "messages": attempt(draw, number)} for name in "abcd"],
        }


def _in_talk(draw: random.Random, number: int) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": f"About QX{number}: {_text(draw, 90)}"},
        {"role": "user", "content": _text(draw, 30)},
        {"role": "assistant", "content": _text(draw, 110)},
    ]


def _with_tool(draw: random.Random, number: int) -> list[dict[str, Any]]:
    call = f"call_{draw.randrange(16**8):08x}"
    arguments = json.dumps({"order": f"QX{number}", "fields": ["total", "policy", "cabin"]})
    found = {"order": f"QX{number}", "total": draw.randrange(5000), "note": _text(draw, 60)}
    return [
        {
            "role": "assistant",
            "content": _text(draw, 20),
            "tool_calls": [{"id": call, "type": "function", "function": {"name": "get_order", "arguments": arguments}}],
        },
        {"role": "tool", "tool_call_id": call, "content": json.dumps(found)},
        {"role": "assistant", "content": _text(draw, 118)},
    ]


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(WORDS, k=words))


def groups_of(truth: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    """Groups whose trajectories' qualities are those of ``truth``, for judges that are told them."""
    return [
        {
            "group_id": name,
            "context": [{"role": "user", "content": f"task {name}"}],
            "trajectories": [
                {"id": one, "messages": [{"role": "assistant", "content": f"{one} of {name}"}]} for one in quality
            ],
        }
        for name, quality in truth.items()
    ]
