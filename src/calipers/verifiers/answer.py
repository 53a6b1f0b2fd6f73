"""Reads the final answer of a trajectory, which most verifiers check: the last assistant message without its reasoning.

``inputs`` read the message formats of trainers.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping

from calipers.interfaces import Verifier
from calipers.types import Message, Trajectory, Verdict

NO_ANSWER = "there is no answer to check"

_OPEN, _CLOSE = "<think>", "</think>"
_FENCE = re.compile(r"^(?:```|~~~)[ \t]*([\w+#.-]*)[^\n]*\n(.*?)^(?:```|~~~)[ \t]*$", re.DOTALL | re.MULTILINE)


class AnswerVerifier(ABC):
    """A verifier that checks only the final answer. Its verdict is None if the trajectory has no final answer."""

    __slots__ = ()

    @abstractmethod
    def check(self, answer: str) -> Verdict:
        """Return the verdict on the final answer ``answer``."""

    def __call__(self, trajectory: Trajectory) -> Verdict:
        answer = final_answer(trajectory)
        return Verdict(None, NO_ANSWER) if answer is None else self.check(answer)


def final_answer(trajectory: Trajectory) -> str | None:
    """Return the final answer for a verifier: the last assistant message's text after its reasoning.

    None if the trajectory has no such text.

    An unclosed ``<think>`` means that the model never reached its answer: the result is None.
    """
    for message in reversed(trajectory.messages):
        if message.get("role") == "assistant":
            text = message_text(message)
            return None if text is None else without_reasoning(text)
    return None


def without_reasoning(text: str) -> str | None:
    """Return the final answer to verify, after the last ``</think>``.

    None if a ``<think>`` is still open at the end.
    """
    before, closed, after = text.rpartition(_CLOSE)
    rest = after if closed else before or text
    return None if _OPEN in rest else rest.strip() if closed else rest


def message_text(message: Message) -> str | None:
    """Return the text of a message to verify, with its text parts joined, or None if it has no text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        return "".join(
            part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        )
    return None


def last_code_block(text: str, languages: tuple[str, ...] = ()) -> str | None:
    """Return the content of the last fenced code block in a final answer to verify, or None if there is no block.

    Blocks in one of ``languages`` (lower case) are preferred to blocks in any other language.
    """
    blocks = _FENCE.findall(text)
    named = [body for language, body in blocks if language.lower() in languages]
    found = named or [body for _, body in blocks]
    return found[-1] if found else None


def excerpt(value: object) -> str:
    """Return ``value`` in Python's notation, cut to 100 characters, for the reason in a verifier's verdict."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def answered() -> Verifier:
    """Return the verifier ``has_answer``. Rules files name it as ``answered``."""
    return has_answer


def has_answer(trajectory: Trajectory) -> Verdict:
    """Return the verifier's verdict on whether the trajectory has a final answer that is not empty.

    This verifier can serve as a gate.
    """
    if (final_answer(trajectory) or "").strip():
        return Verdict(True)
    return Verdict(False, "there is no answer")
