"""Checks a judge's server: whether it answers, accepts the key and has the model, and enforces an output format."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any, Final

from calipers.backends.negotiation import Negotiated
from calipers.backends.server import HttpBackend
from calipers.doctor.checks import Check
from calipers.doctor.examinee import Examinee
from calipers.errors import BackendError, ConfigError
from calipers.interfaces import FullBackend
from calipers.types import Ask, Completion, JudgeRequest, RenderedGroup


async def check_reachability(backend: FullBackend) -> Check:
    """Return whether the judge answers, accepts the key and has the model, as far as that is known before a question.

    If this is bad, no question can succeed.
    """
    try:
        warnings = [*backend.warnings, *await backend.check()]
    except ConfigError as error:
        return Check("reachable", "bad", str(error))
    return Check("reachable", "note" if warnings else "good", " ".join(warnings) or f"{who_answers(backend)} answers")


def who_answers(backend: FullBackend) -> str:
    """Return what the doctor calls the judge in its checks: not every judge is behind a server of its own."""
    return "the server" if isinstance(backend, HttpBackend) else "the judge"


LIMIT: Final = 2048
"""The most tokens of a reply: enough for reasoning before the answer, and a limit for replies that would not end."""
_TRIES = 3
_LETTERS = "bcdfghjkmnpqrstvwxz"
_NOT_SENT = frozenset({"response_format", "seed", "temperature"})
"""A user's response format would replace the tested one, and fixed sampling would repeat a reply."""
_QUESTION = 'Name a fruit. Answer as JSON: {"answer": ...}'
_FORM: Final = "json_schema"
_NOBODY = RenderedGroup("", (), "", "", (), ())
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


async def check_applied_schema(examinee: Examinee, rng: random.Random) -> Check:
    """Return the check whether the judge's server enforces, ignores or refuses a JSON schema. No server failure raises.

    A negative result is tested again. A positive result cannot occur by chance, but a negative result can: a server
    (llama.cpp) may fail to parse what its own grammar allowed, and then the backend falls back to plain text.
    """
    tries = [await _once(examinee, rng)]
    while tries[-1].standing == "bad" and len(tries) < _TRIES:
        tries.append(await _once(examinee, rng))
    return tries[-1] if tries[-1].standing == "good" else tries[0]


async def _once(examinee: Examinee, rng: random.Random) -> Check:
    name, backend = "json_schema applied", examinee.backend()
    if not (isinstance(backend, Negotiated) and backend.forms):
        return Check(name, "note", "does not apply: this judge is not asked for an output format", {"applied": None})
    word = "zq" + "".join(rng.choice(_LETTERS) for _ in range(8))
    try:
        completion = await examinee.complete(schema_request(word, params=examinee.params), backend)
    except (BackendError, TimeoutError) as error:
        why = examinee.time_is_up if isinstance(error, TimeoutError) else str(error)
        return Check(name, "unknown", f"not tested: {why}", {"applied": None})
    if _FORM in backend.learned().get("refused", ()):
        return Check(name, "note", "refused by the server, so it is not requested", {"applied": False, "refused": True})
    applied = is_applied(word, completion)
    if applied is None:
        says = f"not known: the reply was cut off at {LIMIT:,} tokens, before its answer"
        return Check(name, "unknown", says, {"applied": None})
    if applied:
        return Check(name, "good", "applied: it forced a reply that the question does not suggest", {"applied": True})
    return Check(name, "bad", "accepted and ignored: the reply did not follow it", {"applied": False, "refused": False})


def schema_request(word: str, *, params: Mapping[str, Any]) -> JudgeRequest:
    """Return the request that shows whether a server applies a schema; ``params`` are sent as in a run."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": [word]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    sent = {name: value for name, value in params.items() if name not in _NOT_SENT}
    # A run's requests have a system message, too, and some chat templates change without it.
    messages = ({"role": "system", "content": "You give short answers."}, {"role": "user", "content": _QUESTION})
    return JudgeRequest(messages, (), Ask(0, (), ()), _NOBODY, schema, LIMIT, sent)


def is_applied(word: str, completion: Completion) -> bool | None:
    """Return whether the server applied the schema in its answer; None if that was cut off too early to show it."""
    if word in completion.text:
        return True
    # A cut-off reply proves that the schema was ignored only if it began differently, because some grammars allow
    # endless white space.
    text = re.sub(r"\s", "", _THOUGHT.sub("", completion.text))
    begun = f'{{"answer":"{word}"}}'.startswith(text)
    return None if completion.finish_reason == "length" and begun else False
