"""Completions as engines decode them hold the policy's thoughts in their text; here they are put where reasoning goes.

Pure. Not responsible for whether a judge is shown them (``Judge(reasoning=...)``).
"""

from __future__ import annotations

from typing import Final

from calipers.types import Message

_THINK: Final = "<think>"
_THOUGHT: Final = "</think>"


def split_reasoning(message: Message) -> Message:
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
