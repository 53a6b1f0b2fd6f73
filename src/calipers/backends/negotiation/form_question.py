"""A question that shows whether a server applies structured output, and what its answer proves.

A 200 alone proves nothing: some servers accept a schema and ignore it. The schema here allows one constant, which the
question does not mention. Pure; not responsible for asking (``probing``, ``doctor``) nor for what follows.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from typing import Any, Final

from calipers.backends.negotiation.step_down import Form
from calipers.types import Ask, Completion, JudgeRequest, RenderedGroup

LIMIT: Final = 2048
"""Tokens of a reply: enough for reasoning before the answer, and an end to replies that would not end."""

_LETTERS = "bcdfghjkmnpqrstvwxz"
_NOT_SENT = frozenset({"response_format", "seed", "temperature"})
"""A response format of the user's would replace this one, and fixed sampling would make every try the same."""

_QUESTIONS: Mapping[Form, str] = {
    "json_schema": 'Name a fruit. Answer as JSON: {"answer": ...}',
    "json_object": "Say hello in one short sentence of plain words. Do not write JSON.",
}
_SYSTEM: Final = "You give short answers."
"""The questions of a run have a system message, too; some chat templates write another prompt without one."""

_NOBODY = RenderedGroup("", (), "", "", (), ())
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


def improbable(rng: random.Random) -> str:
    """A word that no model writes unless it is forced to."""
    return "zq" + "".join(rng.choice(_LETTERS) for _ in range(8))


def form_question(form: Form, word: str, *, params: Mapping[str, Any], max_tokens: int = LIMIT) -> JudgeRequest:
    """A question that asks for ``form``; ``params`` are sent along as in a run."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": [word]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    sent = {name: value for name, value in params.items() if name not in _NOT_SENT}
    messages = ({"role": "system", "content": _SYSTEM}, {"role": "user", "content": _QUESTIONS[form]})
    return JudgeRequest(messages, (), Ask(0, (), ()), _NOBODY, schema, max_tokens, sent)


def form_applied(form: Form, word: str, completion: Completion) -> bool | None:
    """Whether ``form`` was applied; None where the reply was cut off before it showed that."""
    spoken = _THOUGHT.sub("", completion.text).strip()
    cut = completion.finish_reason == "length"
    if form == "json_schema":
        if word in completion.text:
            return True
        # A reply that was cut off proves the contrary only if it began otherwise: some grammars allow endless white
        # space.
        begun = f'{{"answer":"{word}"}}'.startswith(re.sub(r"\s", "", spoken))
        return None if cut and begun else False
    if not spoken:
        return None
    try:
        return isinstance(json.loads(spoken), dict)
    except (ValueError, RecursionError):
        return cut and spoken.startswith("{")
