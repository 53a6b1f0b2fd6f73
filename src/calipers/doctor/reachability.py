"""Checks a judge's server before the first question: whether it answers, accepts the key and has the model.

Also reads the model's context window. Costs no tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from calipers.backends.server import HttpBackend
from calipers.backends.transport.reply import HttpReply
from calipers.backends.transport.usage import token_count
from calipers.doctor.diagnosis import Check
from calipers.errors import BackendError, ConfigError
from calipers.interfaces import FullBackend
from calipers.types.encoding import counted

_WINDOWS = ("max_model_len", "context_window", "context_length", "max_context_length", "loaded_context_length", "n_ctx")
"""Keys of the window in the model lists of vLLM, SGLang, Groq, OpenRouter, Together, Mistral, LM Studio and
llama.cpp.
"""


async def check_reachability(backend: FullBackend) -> list[Check]:
    """Return the doctor's checks "reachable", "authorised", "model" and "context window" of a judge's server, and
    "slots" if it tells how many requests it runs at once.

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
    window = window_of(rows, backend.model) or backend.context_window
    return [reachable, authorised, model, _window(window), *_slots(backend.slots)]


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


def _slots(slots: int | None) -> list[Check]:
    if slots is None:
        return []
    says = f"{counted(slots, 'request')} at once, as the server reports; others wait there"
    return [Check("slots", "good", says, {"slots": slots})]


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
