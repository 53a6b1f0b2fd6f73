"""Rollouts that engines hold as a prompt and a text, as what a judge compares.

Pure. Not responsible for where an engine keeps them (its own module), or for what a judge is shown (``render``).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

from calipers.errors import InputError
from calipers.judge import Judge
from calipers.trainers.references import with_reference
from calipers.trainers.thoughts import thought_apart
from calipers.types import Message

K = TypeVar("K", bound=Hashable)


def answers(prompt: object, texts: Sequence[str | None], *, rubric: str | None = None) -> dict[str, Any]:
    """A group of a judge's: one prompt, a text or a list of chat messages, and what each rollout said. None said nothing."""
    return {
        "context": context_of(prompt),
        "trajectories": [{"messages": [] if text is None else [said(text)]} for text in texts],
        "rubric": rubric,
    }


def context_of(prompt: object) -> list[dict[str, Any]]:
    """The prompt as chat messages. Raises InputError for what is neither text nor messages."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    if isinstance(prompt, Sequence) and all(isinstance(message, Mapping) for message in prompt):
        return [dict(message) for message in prompt]
    raise InputError(f"a prompt is a {type(prompt).__name__}: it must be a text or a list of chat messages")


def graded_by(judge: Judge, rubric: str | None, reference: object) -> str | None:
    """The rubric of a group with a reference answer: that is shown to the judge besides. None and "" are no reference."""
    if reference is None or reference == "":
        return rubric
    return with_reference(rubric or judge.settings.rubric, str(reference))


def said(text: str) -> Message:
    """The assistant's message, its thoughts apart from what it answered."""
    return thought_apart({"role": "assistant", "content": text})


def places(keys: Sequence[K]) -> dict[K, list[int]]:
    """The places at which each key stands, keys in the order they first come."""
    found: dict[K, list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return found
