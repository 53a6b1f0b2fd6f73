"""The text of a trajectory that a check is about: its final answer, without the reasoning before it.

Not responsible for reading foreign messages (``readers``).
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
    """A verifier of the final answer alone. Without an answer the verdict is None."""

    __slots__ = ()

    @abstractmethod
    def check(self, answer: str) -> Verdict:
        """Whether the final answer is as it should be."""

    def __call__(self, trajectory: Trajectory) -> Verdict:
        answer = final_answer(trajectory)
        return Verdict(None, NO_ANSWER) if answer is None else self.check(answer)


def final_answer(trajectory: Trajectory) -> str | None:
    """The last assistant message's text after its reasoning, or None if there is none.

    An unclosed ``<think>`` means that the model never came to answer: None.
    """
    for message in reversed(trajectory.messages):
        if message.get("role") == "assistant":
            text = text_of(message)
            return None if text is None else without_reasoning(text)
    return None


def without_reasoning(text: str) -> str | None:
    """What follows the last ``</think>``; None if a ``<think>`` is still open at the end."""
    before, closed, after = text.rpartition(_CLOSE)
    rest = after if closed else before or text
    return None if _OPEN in rest else rest.strip() if closed else rest


def text_of(message: Message) -> str | None:
    """A message's text, its text parts joined; None if it has none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        return "".join(
            part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        )
    return None


def fenced(text: str, languages: tuple[str, ...] = ()) -> str | None:
    """The last fenced block, of one of ``languages`` (lower case) if there is such a block; None without blocks."""
    blocks = _FENCE.findall(text)
    named = [body for language, body in blocks if language.lower() in languages]
    found = named or [body for _, body in blocks]
    return found[-1] if found else None


def excerpt(value: object) -> str:
    """``value`` as it is quoted in a reason: in Python's spelling, at most 100 characters."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def answered() -> Verifier:
    """``has_answer``, for those that name verifiers in data."""
    return has_answer


def has_answer(trajectory: Trajectory) -> Verdict:
    """A verifier for gates: not met if the final answer is missing or empty."""
    if (final_answer(trajectory) or "").strip():
        return Verdict(True)
    return Verdict(False, "there is no answer")
