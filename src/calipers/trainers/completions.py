"""What a policy wrote, made ready for a judge, in the parts every engine's adapter needs.

Pure. Not responsible for how an engine holds a rollout (its own module), or for how a judge is shown it (``render``).
"""

from __future__ import annotations

from typing import Final

from calipers.types import Message

_THINK, _THOUGHT = "<think>", "</think>"

_REFERENCE: Final = (
    "For this task there is a reference, which no attempt was shown. An attempt that agrees with it in substance is "
    "right, however it is worded:"
)


def with_reference(rubric: str, reference: str) -> str:
    """The rubric, with a reference that the judge is to hold the attempts against."""
    return f"{rubric}\n\n{_REFERENCE}\n{reference}"


def thought_apart(message: Message) -> Message:
    """What was thought in a message's text goes where reasoning goes, which a judge is shown or not, as it was set up.

    Chat templates that open ``<think>`` in the prompt leave only its end in the completion, and a completion cut off in
    the middle of a thought has no end of it.
    """
    content = message.get("content")
    if message.get("role") != "assistant" or not isinstance(content, str):
        return message
    before, closed, after = content.partition(_THOUGHT)
    begun = before.lstrip()
    if not (begun.startswith(_THINK) or (closed and _THINK not in begun)):
        return message
    thoughts = (message.get("reasoning"), begun.removeprefix(_THINK).strip())
    reasoning = "\n\n".join(filter(None, thoughts))
    return {**message, "content": after.lstrip()} | ({"reasoning": reasoning} if reasoning else {})
