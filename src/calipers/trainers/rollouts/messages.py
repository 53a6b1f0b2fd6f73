"""Convert an engine's prompts and rollouts to chat messages, and add a reference answer to a group's rubric.

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
"""This text is part of the judge's prompt. A change would change ledger keys."""


def prompt_messages(prompt: object) -> list[dict[str, Any]]:
    """Return a trainer's prompt as chat messages. Raises InputError for anything but text and messages."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    if isinstance(prompt, Sequence) and all(isinstance(message, Mapping) for message in prompt):
        return [dict(message) for message in prompt]
    raise InputError(f"a prompt is a {type(prompt).__name__}: it must be a text or a list of chat messages")


def assistant_message(text: str) -> Message:
    """Return the text of a trainer's completion as an assistant message, with its reasoning apart from its answer."""
    return split_reasoning({"role": "assistant", "content": text})


def split_reasoning(message: Message) -> Message:
    """Move the ``<think>`` text of a message in a trainer's rollout to ``reasoning``.

    ``Judge(question={"reasoning": ...})`` shows or hides it.

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


def rubric_text_with_reference(rubric: str, reference: str) -> str:
    """Return the rubric of a trainer's row, followed by a reference answer that the judge compares with rollouts."""
    return f"{rubric}\n\n{_REFERENCE}\n{reference}"


def rubric_with_reference(judge: Judge, rubric: Any, reference: object) -> Any:
    """Return the rubric of a trainer's group, extended by a reference answer. None and "" mean no reference.

    Only a rubric of text is extended. Criteria, of the group or of the judge, state themselves what is required.
    """
    own = judge.settings.rubric if rubric is None else rubric
    if reference is None or reference == "" or not isinstance(own, str):
        return rubric
    return rubric_text_with_reference(own, str(reference))


def positions_by_key(keys: Sequence[K]) -> dict[K, list[int]]:
    """Return the positions of a trainer's rows for each key in ``keys``.

    Keys are in the order of their first positions.
    """
    found: dict[K, list[int]] = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    return found
