"""Chat messages of prompts and rollouts, and the rubric of a group that comes with a reference answer.

Pure. Not responsible for where an engine stores them (its own module), or for what a judge is sent (``render``).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, TypeVar

from calipers.errors import InputError
from calipers.judging.judge import Judge
from calipers.types import Message

K = TypeVar("K", bound=Hashable)

_THINK: Final = "<think>"
_END_THINK: Final = "</think>"

_REFERENCE: Final = (
    "For this task there is a reference, which no attempt was shown. An attempt that agrees with it in substance is "
    "right, however it is worded:"
)
"""Part of the prompt: ledgers are keyed by it."""


def context_of(prompt: object) -> list[dict[str, Any]]:
    """The prompt as chat messages. Raises InputError for what is neither text nor messages."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    if isinstance(prompt, Sequence) and all(isinstance(message, Mapping) for message in prompt):
        return [dict(message) for message in prompt]
    raise InputError(f"a prompt is a {type(prompt).__name__}: it must be a text or a list of chat messages")


def assistant_message(text: str) -> Message:
    """The assistant's message, its reasoning separate from its answer."""
    return split_reasoning({"role": "assistant", "content": text})


def split_reasoning(message: Message) -> Message:
    """Move ``<think>`` text to the ``reasoning`` field, which a judge sees or not, as it was set up
    (``Judge(question={"reasoning": ...})``).

    Chat templates that open ``<think>`` in the prompt leave only its end in the completion, and a completion that was
    cut off while reasoning has no end tag.
    """
    content = message.get("content")
    if message.get("role") != "assistant" or not isinstance(content, str):
        return message
    before, closed, after = content.partition(_END_THINK)
    start = before.lstrip()
    if not (start.startswith(_THINK) or (closed and _THINK not in start)):
        return message
    parts = (message.get("reasoning"), start.removeprefix(_THINK).strip())
    reasoning = "\n\n".join(filter(None, parts))
    return {**message, "content": after.lstrip()} | ({"reasoning": reasoning} if reasoning else {})


def with_reference(rubric: str, reference: str) -> str:
    """The rubric, followed by a reference answer that the judge compares the attempts with."""
    return f"{rubric}\n\n{_REFERENCE}\n{reference}"


def rubric_with_reference(judge: Judge, rubric: Any, reference: object) -> Any:
    """A group's rubric, extended by a reference answer. None and "" are no reference.

    Only a rubric of text is extended: criteria, the group's or the judge's, state themselves what is required.
    """
    own = judge.settings.rubric if rubric is None else rubric
    if reference is None or reference == "" or not isinstance(own, str):
        return rubric
    return with_reference(own, str(reference))


def positions_by_key(keys: Sequence[K]) -> dict[K, list[int]]:
    """The positions of each key, keys in the order of their first positions."""
    found: dict[K, list[int]] = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    return found
