"""Is a form applied that the server took without a word? A canary finds out.

The schema allows one constant, drawn anew each time, that the question does not mention: only a server that applies the
schema can bring it back. A 200 alone proves nothing. Not responsible for what to do about it (``verdict``).
"""

from __future__ import annotations

import json
import random
import re
from typing import Any, Literal

from calipers.doctor.diagnosis import Check
from calipers.doctor.patient import Patient
from calipers.doctor.probes import PROBES
from calipers.errors import BackendError
from calipers.interfaces import Learner
from calipers.render import render
from calipers.types import Ask, Completion, JudgeRequest

Form = Literal["json_schema", "json_object"]

_LETTERS = "bcdfghjkmnpqrstvwxz"
_LIMIT = 2048
"""Room for a thought before the answer, and an end to an answer that finds none."""

_TRIES = 3

_NOT_FOR_A_CANARY = frozenset({"response_format", "seed", "temperature"})
"""A form of the user's own would take the canary's place, and fixed sampling would make every try the same."""

_ASK = 'Name a fruit. Answer as JSON: {"answer": ...}'
_ASK_PLAIN = "Say hello in one short sentence of plain words. Do not write JSON."
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


async def canary(patient: Patient, form: Form, rng: random.Random) -> Check:
    """Whether ``form`` is applied, ignored or refused. Never raises for what a server does.

    Asked again while the answer is no: yes cannot come about by chance, but no can, where a server (llama.cpp) fails to
    parse what its own grammar let through and the backend falls back on plain text.
    """
    tries = [await _once(patient, form, rng)]
    while tries[-1].standing == "bad" and len(tries) < _TRIES:
        tries.append(await _once(patient, form, rng))
    return tries[-1] if tries[-1].standing == "good" else tries[0]


async def _once(patient: Patient, form: Form, rng: random.Random) -> Check:
    name = f"{form} applied"
    backend = patient.backend(without=() if form == "json_schema" else ("json_schema",))
    if not takes_forms(backend):
        return Check(name, "note", "does not apply: this judge is not asked for a form", {"applied": None})
    word = "zq" + "".join(rng.choice(_LETTERS) for _ in range(8))
    try:
        completion = await patient.complete(_request(form, word, patient), backend)
    except (BackendError, TimeoutError) as error:
        return Check(name, "unknown", f"could not be found out: {error or 'no time left'}", {"applied": None})
    refused = backend.learned().get("refused", ()) if isinstance(backend, Learner) else ()
    if form in refused:
        return Check(name, "note", "refused by the server, so it is not asked for", {"applied": False, "refused": True})
    applied = _schema_applied(completion, word) if form == "json_schema" else _object_applied(completion)
    if applied is None:
        says = f"could not be found out: the reply was cut at {_LIMIT:,} tokens, before it said anything"
        return Check(name, "unknown", says, {"applied": None})
    if applied:
        return Check(name, "good", "applied: a reply the question does not suggest was forced", {"applied": True})
    return Check(name, "bad", "accepted and ignored: the reply did not follow it", {"applied": False, "refused": False})


def takes_forms(backend: object) -> bool:
    """Whether this backend asks a server for structured output at all."""
    from calipers.backends.anthropic import Anthropic  # noqa: PLC0415 - only where a judge is examined
    from calipers.backends.litellm import LiteLLM  # noqa: PLC0415 - likewise
    from calipers.backends.openai_compatible import OpenAICompatible  # noqa: PLC0415 - likewise

    return isinstance(backend, Anthropic | LiteLLM | OpenAICompatible)


def _request(form: Form, word: str, patient: Patient) -> JudgeRequest:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": [word]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    text = _ASK if form == "json_schema" else _ASK_PLAIN
    view = render(PROBES[0])
    params = {name: value for name, value in patient.params.items() if name not in _NOT_FOR_A_CANARY}
    return JudgeRequest(({"role": "user", "content": text},), (), Ask(0, (), ()), view, schema, _LIMIT, params)


def _schema_applied(completion: Completion, word: str) -> bool | None:
    if word in completion.text:
        return True
    return None if completion.finish_reason == "length" and not _spoken(completion) else False


def _object_applied(completion: Completion) -> bool | None:
    spoken = _spoken(completion)
    cut = completion.finish_reason == "length"
    if not spoken:
        return None
    try:
        return isinstance(json.loads(spoken), dict)
    except (ValueError, RecursionError):
        return cut and spoken.startswith("{")


def _spoken(completion: Completion) -> str:
    """The text without thoughts in it."""
    return _THOUGHT.sub("", completion.text).strip()
