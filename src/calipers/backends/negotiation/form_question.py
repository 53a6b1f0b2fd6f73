"""A question whose answer only a server that applies the form can give, and what its answer proves.

A 200 alone proves nothing: some servers take a schema without a word and ignore it. The schema here allows one constant
that the question does not mention. Pure; not responsible for asking (``probing``, ``doctor``) nor for what follows.
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
"""Tokens of a reply: room for a thought before the answer, and an end to an answer that finds none."""

_LETTERS = "bcdfghjkmnpqrstvwxz"
_NOT_SENT = frozenset({"response_format", "seed", "temperature"})
"""A form of the user's own would take this one's place, and fixed sampling would make every try the same."""

_QUESTIONS: Mapping[Form, str] = {
    "json_schema": 'Name a fruit. Answer as JSON: {"answer": ...}',
    "json_object": "Say hello in one short sentence of plain words. Do not write JSON.",
}
_SYSTEM: Final = "You give short answers."
"""A run's questions have a system message, and some chat templates make another prompt of one without."""

_NOBODY = RenderedGroup("", (), "", "", (), ())
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


def improbable(rng: random.Random) -> str:
    """A word that no model says unless it is made to."""
    return "zq" + "".join(rng.choice(_LETTERS) for _ in range(8))


def form_question(form: Form, word: str, *, params: Mapping[str, Any], max_tokens: int = LIMIT) -> JudgeRequest:
    """A question that asks for ``form``; ``params`` go with it as in a run."""
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
    """Whether the answer proves that ``form`` was applied; None where it proves nothing, being cut before it began."""
    spoken = _THOUGHT.sub("", completion.text).strip()
    cut = completion.finish_reason == "length"
    if form == "json_schema":
        if word in completion.text:
            return True
        # A cut reply says no only where it went another way already: some grammars let white space run on without end.
        begun = f'{{"answer":"{word}"}}'.startswith(re.sub(r"\s", "", spoken))
        return None if cut and begun else False
    if not spoken:
        return None
    try:
        return isinstance(json.loads(spoken), dict)
    except (ValueError, RecursionError):
        return cut and spoken.startswith("{")
