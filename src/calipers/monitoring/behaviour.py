"""Count what the policy does: messages, tool calls, length, repetition, refusals. Reward hacking often shows here
first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from calipers.monitoring.answers import message_text
from calipers.types import Trajectory

_GRAM: Final = 4
_REFUSALS: Final = re.compile(
    r"i(?<=\bi)(?:(?:'m| am) (?:sorry|unable|not able|afraid i can(?:no|')t)"
    r"| (?:can(?:no|')t|cannot|won't|will not|must decline) (?:help|assist|do|comply|provide|answer|fulfil))"
    r"|a(?<=\ba)s an ai(?: language)? model"
)
"""Searched in lower case; patterns that begin with a letter are found several times faster than at any word's begin."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Counts of a trajectory: its assistant's messages, tool calls, characters, repeated text and refusals.

    ``repetition`` is the share (0-1) of four-word sequences that occurred before in the same trajectory.
    """

    messages: int
    tool_calls: int
    characters: int
    repetition: float
    refuses: bool


def trajectory_behaviour(trajectory: Trajectory) -> Behaviour:
    """Return the counts, for health metrics, of what the policy did in one trajectory."""
    own = [message for message in trajectory.messages if message.get("role") == "assistant"]
    texts = [text for text in map(message_text, own) if text]
    calls = sum(len(message.get("tool_calls") or ()) for message in own)
    last = texts[-1] if texts else ""
    refuses = _REFUSALS.search(last.lower()) is not None
    return Behaviour(len(own), calls, sum(map(len, texts)), _repetition(texts), refuses)


def behaviour(trajectories: Iterable[Trajectory]) -> dict[str, float]:
    """Return the metrics ``{"policy/...": mean}`` over a batch of trajectories; an empty dict for no trajectories."""
    counted = [trajectory_behaviour(trajectory) for trajectory in trajectories]
    if not counted:
        return {}
    return {
        "policy/messages": _mean([counts.messages for counts in counted]),
        "policy/tool_calls": _mean([counts.tool_calls for counts in counted]),
        "policy/characters": _mean([counts.characters for counts in counted]),
        "policy/repetition": _mean([counts.repetition for counts in counted]),
        "policy/refusal_rate": _mean([counts.refuses for counts in counted]),
    }


def _repetition(texts: Sequence[str]) -> float:
    grams: set[tuple[str, ...]] = set()
    total = 0
    for text in texts:
        words = text.lower().split()
        grams.update(zip(*(words[place:] for place in range(_GRAM)), strict=False))
        total += max(0, len(words) - _GRAM + 1)
    return 1 - len(grams) / total if total else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
