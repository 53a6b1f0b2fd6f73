"""A user's own grader prompt: a template with places for the conversation and for one criterion, as HealthBench has.

Pure text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.types import Criterion, Message

CONVERSATION: Final = "<<conversation>>"
RUBRIC_ITEM: Final = "<<rubric_item>>"
CRITERION: Final = "<<criterion>>"
POINTS: Final = "<<points>>"
_PLACE: Final = re.compile(f"{CONVERSATION}|{RUBRIC_ITEM}|{CRITERION}|{POINTS}")


def require_grader_prompt(template: object) -> None:
    """Raise ConfigError, saying what is missing, if ``template`` is no grader prompt."""
    if not isinstance(template, str):
        raise ConfigError(f"grading: grader_prompt must be text or a file, not {type(template).__name__}")
    missing = [] if CONVERSATION in template else [CONVERSATION]
    if RUBRIC_ITEM not in template and CRITERION not in template:
        missing.append(f"{RUBRIC_ITEM} (or {CRITERION})")
    if missing:
        raise ConfigError(f"grading: grader_prompt has no {' and no '.join(missing)}, which a grader prompt needs")


def filled_grader_prompt(template: str, conversation: str, criterion: Criterion) -> str:
    """Return ``template`` with its places filled in one pass, so that no text that is filled in is searched again.

    <<rubric_item>> becomes the criterion after its points, ``[5] Says why.``; <<criterion>> and <<points>> are the
    parts. Source of this form: openai/simple-evals, ``healthbench_eval``.
    """
    values = {
        CONVERSATION: conversation,
        RUBRIC_ITEM: f"[{criterion.points}] {criterion.text}",
        CRITERION: criterion.text,
        POINTS: str(criterion.points),
    }
    return _PLACE.sub(lambda mark: values[mark[0]], template)


def conversation_text(messages: Sequence[Message]) -> str:
    """Return the messages as ``role: content``, with an empty line between two. Tool calls follow as JSON."""
    return "\n\n".join(f"{message['role']}: {_content(message)}" for message in messages)


def shows_images(messages: Sequence[Message]) -> bool:
    """Return whether a message has an image, which no text can show."""
    return any(part.get("type") == "image_url" for message in messages for part in _parts(message))


def _content(message: Message) -> str:
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [_part(part) for part in _parts(message)]
    if calls := message.get("tool_calls"):
        texts.append(json.dumps(calls, ensure_ascii=False, default=str))
    return "\n".join(text for text in texts if text)


def _parts(message: Message) -> Sequence[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else ()


def _part(part: Any) -> str:
    return str(part["text"]) if part.get("type") == "text" else json.dumps(part, ensure_ascii=False, default=str)
