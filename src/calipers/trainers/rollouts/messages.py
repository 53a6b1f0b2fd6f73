"""Rollouts that engines hold as a prompt and a text, as what a judge compares.

Pure. Not responsible for where an engine keeps them (its own module), or for what a judge is shown (``render``).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

from calipers.errors import InputError
from calipers.judging.judge import Judge
from calipers.trainers.rollouts.reasoning import split_reasoning
from calipers.trainers.rollouts.references import with_reference
from calipers.types import Message, Rubric

K = TypeVar("K", bound=Hashable)


def answers(
    prompt: object, texts: Sequence[str | None], *, rubric: str | Rubric | None = None, name: str | None = None
) -> dict[str, Any]:
    """A group of a judge's: one prompt, a text or a list of chat messages, and what each rollout said. None said nothing.

    ``name`` is what the engine knows it by.
    """
    return ({} if name is None else {"group_id": name}) | {
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


def rubric_with_reference(judge: Judge, rubric: Any, reference: object) -> Any:
    """A group's rubric, with a reference answer that the judge is shown besides. None and "" are no reference.

    A reference joins text; criteria, the group's or the judge's, say themselves what is to be there.
    """
    own = judge.settings.rubric if rubric is None else rubric
    if reference is None or reference == "" or not isinstance(own, str):
        return rubric
    return with_reference(own, str(reference))


def said(text: str) -> Message:
    """The assistant's message, its thoughts apart from what it answered."""
    return split_reasoning({"role": "assistant", "content": text})


def places(keys: Sequence[K]) -> dict[K, list[int]]:
    """The places at which each key stands, keys in the order they first come."""
    found: dict[K, list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return found
