"""Checks a judge's server: whether it answers, accepts the key, has the model, and enforces an output format."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from calipers.backends.negotiation import Form, Negotiated
from calipers.backends.server import HttpBackend
from calipers.backends.transport.reply import HttpReply, token_count
from calipers.doctor.diagnosis import Check
from calipers.doctor.examinee import Examinee
from calipers.errors import BackendError, ConfigError
from calipers.interfaces import FullBackend
from calipers.types import Ask, Completion, JudgeRequest, RenderedGroup

_WINDOWS = ("max_model_len", "context_window", "context_length", "max_context_length", "loaded_context_length", "n_ctx")
"""Keys of the window in the model lists of vLLM, SGLang, Groq, OpenRouter, Together, Mistral, LM Studio and
llama.cpp.
"""


async def check_reachability(backend: FullBackend) -> list[Check]:
    """Return the checks "reachable", "authorised", "model" and "context window" of a judge's server.

    If any of them is bad, no question can succeed.
    """
    if not isinstance(backend, HttpBackend):
        return await _without_a_list(backend)
    try:
        reply = await backend.models()
    except BackendError as error:
        return [Check("reachable", "bad", str(error))]
    reachable = Check("reachable", "good", f"{backend.endpoint} answers")
    if reply.status in {401, 403}:
        # The message of check() names the variable that the key is read from.
        return [reachable, Check("authorised", "bad", await _complaint(backend))]
    rows = list(model_rows(reply) or ())
    if not rows:
        unlisted = f"not known yet: {backend.endpoint} does not list its models (HTTP {reply.status})"
        return [reachable, Check("authorised", "unknown", unlisted), Check("model", "unknown", unlisted), _window(None)]
    authorised = Check("authorised", "good", "the key is accepted, or none is needed")
    warning = await _complaint(backend)
    model = Check("model", "unknown", warning) if warning else Check("model", "good", _there(rows, backend.model))
    window = window_of(rows, backend.model)
    return [reachable, authorised, model, _window(window)]


def who_answers(backend: FullBackend) -> str:
    """Return what the doctor calls the judge in its checks: not every judge is behind a server of its own."""
    return "the server" if isinstance(backend, HttpBackend) else "the judge"


def model_rows(reply: HttpReply) -> list[Mapping[str, Any]] | None:
    """Return, for the doctor, the rows of a server's list of models that have an id, or None if the reply is not such a
    list.
    """
    try:
        body = json.loads(reply.body) if reply.status == 200 else None
    except (ValueError, RecursionError):
        return None
    rows = body.get("data") if isinstance(body, dict) else body
    if not isinstance(rows, list):
        return None
    found: list[Mapping[str, Any]] = [
        row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str) and row["id"]
    ]
    return found if found or not rows else None


def window_of(rows: Iterable[Mapping[str, Any]], model: str) -> int | None:
    """Return, for the doctor, the context window in tokens of ``model`` in a server's list of models, or None.

    If the list has a single model, that model counts.
    """
    every = list(rows)
    row = next((row for row in every if row["id"] == model), every[0] if len(every) == 1 else None)
    if row is None:
        return None
    meta = row.get("meta")
    values = [part.get(name) for part in (row, meta if isinstance(meta, dict) else {}) for name in _WINDOWS]
    return next((size for value in values if (size := token_count(value)) is not None), None)


def _there(rows: Iterable[Mapping[str, Any]], model: str) -> str:
    names = [row["id"] for row in rows]
    return (
        f"{model} is available" if model in names else f"the server accepts this name (it lists {', '.join(names[:3])})"
    )


def _window(tokens: int | None, *, who: str = "the server") -> Check:
    if tokens is None:
        return Check("context window", "unknown", f"not reported by {who}", {"tokens": None})
    return Check("context window", "good", f"{tokens:,} tokens, as the server reports", {"tokens": tokens})


async def _complaint(backend: HttpBackend) -> str:
    try:
        return " ".join(await backend.check())
    except ConfigError as error:
        return str(error)


async def _without_a_list(backend: FullBackend) -> list[Check]:
    """Return the checks of a judge whose models cannot be listed: it runs in this process or behind a library."""
    try:
        warnings = [*backend.warnings, *await backend.check()]
    except ConfigError as error:
        return [Check("reachable", "bad", str(error))]
    says = " ".join(warnings) or "there is no list of models to check"
    return [Check("model", "note", says), _window(None, who=who_answers(backend))]


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
