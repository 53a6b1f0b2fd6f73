"""The test request that shows whether a server applies structured output, and the conclusion from its answer.

A status of 200 proves nothing, because some servers accept a schema and ignore it. The schema here allows a single word
that the request does not mention. Pure. Not responsible for sending the request (``probing``, ``doctor``), nor for the
consequences.
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
"""The most tokens of a reply: enough for reasoning before the answer, and a limit for replies that would not end."""

_LETTERS = "bcdfghjkmnpqrstvwxz"
_NOT_SENT = frozenset({"response_format", "seed", "temperature"})
"""Parameters that are not sent: a user's response format would replace the tested one, and fixed sampling would repeat
a reply.
"""

_QUESTIONS: Mapping[Form, str] = {
    "json_schema": 'Name a fruit. Answer as JSON: {"answer": ...}',
    "json_object": "Say hello in one short sentence of plain words. Do not write JSON.",
}
_SYSTEM: Final = "You give short answers."
"""The system message of the test request. A run's requests have one, too, and some chat templates change without it."""

_NOBODY = RenderedGroup("", (), "", "", (), ())
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


def improbable_word(rng: random.Random) -> str:
    """Return a random word for a test request, which no model writes unless the schema forces it to."""
    return "zq" + "".join(rng.choice(_LETTERS) for _ in range(8))


def format_probe_request(form: Form, word: str, *, params: Mapping[str, Any], max_tokens: int = LIMIT) -> JudgeRequest:
    """Return the test request that shows whether a server applies ``form``; ``params`` are sent as in a run."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": [word]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    sent = {name: value for name, value in params.items() if name not in _NOT_SENT}
    messages = ({"role": "system", "content": _SYSTEM}, {"role": "user", "content": _QUESTIONS[form]})
    return JudgeRequest(messages, (), Ask(0, (), ()), _NOBODY, schema, max_tokens, sent)


def is_format_applied(form: Form, word: str, completion: Completion) -> bool | None:
    """Return whether the server applied the output format ``form`` in its answer.

    Return None if the answer was cut off too early to show it.
    """
    spoken = _THOUGHT.sub("", completion.text).strip()
    cut = completion.finish_reason == "length"
    if form == "json_schema":
        if word in completion.text:
            return True
        # A cut-off reply proves that the schema was ignored only if it began differently, because some grammars allow
        # endless white space.
        begun = f'{{"answer":"{word}"}}'.startswith(re.sub(r"\s", "", spoken))
        return None if cut and begun else False
    if not spoken:
        return None
    try:
        return isinstance(json.loads(spoken), dict)
    except (ValueError, RecursionError):
        return cut and spoken.startswith("{")
