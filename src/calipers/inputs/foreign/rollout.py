"""``Rollout``: one rollout in foreign messages, and what the families of formats share. Not responsible for formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.errors import InputError
from calipers.inputs.groups import finite_number
from calipers.inputs.plain import type_in_words

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rollout:
    """One rollout in foreign messages. ``task`` names its prompt where its format does, and is None elsewhere.

    ``is_index`` means that ``task`` is a place in a data set, which another data set has, too: rollouts are of one
    prompt only if their prompts are equal as well. ``asked`` is how many messages are the prompt, where its format says
    so; elsewhere, those before the first reply are. ``left_out`` says what of its file is not in its messages, and
    ``where`` which run of a row with several it is, for messages.
    """

    messages: list[Any]
    task: str | None = None
    tools: Any = None
    reward: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_index: bool = False
    asked: int | None = None
    left_out: str | None = None
    where: str = ""
    gold: float | None = None

    def as_trajectory(self) -> Row:
        """Return the rollout as a trajectory object of a groups file, without an id."""
        named = {
            "tools": self.tools or None,
            "reward": self.reward,
            "gold": self.gold,
            "metadata": dict(self.metadata) or None,
        }
        return {"messages": self.messages} | {key: item for key, item in named.items() if item is not None}


Part = tuple[str, Callable[[], list[Rollout]]]
"""A part of a row that is read on its own, with where it is in the row."""
LEFT_OUT = "left_out"
"""The key under which a rollout's metadata has its ``left_out``, too."""


def rest_of(row: Row, *read: str) -> Row:
    """Return what a row has beside the keys ``read``."""
    return {key: item for key, item in row.items() if key not in read and item is not None}


def gold_of(row: Mapping[str, Any]) -> float | None:
    """Return the score that a row with one rollout has as ``gold``; None if it has none, or a text such as the answer
    to its task. Raises InputError for a number that is not finite.
    """
    gold = row.get("gold")
    return finite_number(gold, "'gold'") if isinstance(gold, int | float) else None


def beside(notes: Row, name: str, more: Row) -> Row:
    """Return notes with ``more``; a key of ``more`` that has another value in the notes is named ``name.key``."""
    own = {key if notes.get(key, item) == item else f"{name}.{key}": item for key, item in more.items()}
    return notes | own


def reward_of(given: Any, what: str) -> float | None:
    """Return a reward as a number, None where there is none. Raises InputError for one that is not finite, which
    ``rollouts`` has as text, and for anything else that is no number.
    """
    if isinstance(given, str):
        raise InputError(f"{what} is {given[:40]!r}, which is no finite number; write null if it is unknown")
    return finite_number(given, what)


def require_unused(row: Row, key: str) -> None:
    """Raise InputError for a row with a key of its own that calipers writes to the metadata."""
    if key in row:
        raise InputError(f"has the key {key!r}, which calipers writes; rename it")


def turn(said: Any, role: str, field: str) -> list[Any]:
    """Return a prompt or a completion, which is text, a message or messages, as messages. Raises InputError naming the
    ``field``.
    """
    if isinstance(said, str):
        return [{"role": role, "content": said}]
    if isinstance(said, dict):
        return [said]
    if not isinstance(said, list):
        raise InputError(f"{field!r} is {type_in_words(said)}; write it as text, a message or a list of messages")
    return said


def with_unread(notes: Row, row: Row, steps: list[Any], known: frozenset[str]) -> tuple[Row, str | None]:
    """Return notes with the names of the steps' keys that are not ``known``, which nothing reads; and those as text.

    Raises InputError for a row that has a key of its own where they are written.
    """
    found = {key for step in steps if isinstance(step, dict) for key, item in step.items() if item is not None} - known
    if not found:
        return notes, None
    require_unused(row, LEFT_OUT)
    left_out = f"the unknown keys of steps {', '.join(sorted(found))[:200]}"
    return notes | {LEFT_OUT: left_out}, left_out
