"""Tests whether a server enforces the output format that it accepted, by a schema that allows one improbable word.

A status of 200 proves nothing, because some servers accept a schema and ignore it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from typing import Any, Final

from calipers.backends.negotiation import Form, Negotiated
from calipers.doctor.diagnosis import Check
from calipers.doctor.examinee import Examinee
from calipers.errors import BackendError
from calipers.interfaces import FullBackend
from calipers.types import Ask, Completion, JudgeRequest, RenderedGroup

LIMIT: Final = 2048
"""The most tokens of a reply: enough for reasoning before the answer, and a limit for replies that would not end."""
_TRIES = 3
_LETTERS = "bcdfghjkmnpqrstvwxz"
_NOT_SENT = frozenset({"response_format", "seed", "temperature"})
"""A user's response format would replace the tested one, and fixed sampling would repeat a reply."""
_QUESTIONS: Mapping[Form, str] = {
    "json_schema": 'Name a fruit. Answer as JSON: {"answer": ...}',
    "json_object": "Say hello in one short sentence of plain words. Do not write JSON.",
}
_NOBODY = RenderedGroup("", (), "", "", (), ())
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


async def check_applied_format(examinee: Examinee, form: Form, rng: random.Random) -> Check:
    """Return the check whether the judge's server enforces, ignores or refuses ``form``. No server failure raises.

    A negative result is tested again. A positive result cannot occur by chance, but a negative result can: a server
    (llama.cpp) may fail to parse what its own grammar allowed, and then the backend falls back to plain text.
    """
    tries = [await _once(examinee, form, rng)]
    while tries[-1].standing == "bad" and len(tries) < _TRIES:
        tries.append(await _once(examinee, form, rng))
    return tries[-1] if tries[-1].standing == "good" else tries[0]


async def _once(examinee: Examinee, form: Form, rng: random.Random) -> Check:
    name = f"{form} applied"
    backend = examinee.backend(without=() if form == "json_schema" else ("json_schema",))
    if not takes_forms(backend):
        return Check(name, "note", "does not apply: this judge is not asked for an output format", {"applied": None})
    word = "zq" + "".join(rng.choice(_LETTERS) for _ in range(8))
    try:
        completion = await examinee.complete(format_request(form, word, params=examinee.params), backend)
    except (BackendError, TimeoutError) as error:
        why = examinee.time_is_up if isinstance(error, TimeoutError) else str(error)
        return Check(name, "unknown", f"not tested: {why}", {"applied": None})
    if form in backend.learned().get("refused", ()):
        return Check(name, "note", "refused by the server, so it is not requested", {"applied": False, "refused": True})
    applied = is_applied(form, word, completion)
    if applied is None:
        says = f"not known: the reply was cut off at {LIMIT:,} tokens, before its answer"
        return Check(name, "unknown", says, {"applied": None})
    if applied:
        return Check(name, "good", "applied: it forced a reply that the question does not suggest", {"applied": True})
    return Check(name, "bad", "accepted and ignored: the reply did not follow it", {"applied": False, "refused": False})


def takes_forms(backend: FullBackend) -> bool:
    """Return whether the judge can request structured output at all."""
    return isinstance(backend, Negotiated) and bool(backend.forms)


def format_request(form: Form, word: str, *, params: Mapping[str, Any]) -> JudgeRequest:
    """Return the request that shows whether a server applies ``form``; ``params`` are sent as in a run."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": [word]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    sent = {name: value for name, value in params.items() if name not in _NOT_SENT}
    # A run's requests have a system message, too, and some chat templates change without it.
    messages = ({"role": "system", "content": "You give short answers."}, {"role": "user", "content": _QUESTIONS[form]})
    return JudgeRequest(messages, (), Ask(0, (), ()), _NOBODY, schema, LIMIT, sent)


def is_applied(form: Form, word: str, completion: Completion) -> bool | None:
    """Return whether the server applied ``form`` in its answer; None if that was cut off too early to show it."""
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
