"""Is a form applied that the server took without a word? A question that only the form can answer finds out.

Not responsible for that question (``backends.form_question``), nor for what to do about its answer (``verdict``).
"""

from __future__ import annotations

import random

from calipers.backends.negotiation.form_question import LIMIT, Form, form_applied, form_question, improbable
from calipers.backends.transport.served import Negotiated
from calipers.doctor.diagnosis import Check
from calipers.doctor.patient import Patient
from calipers.errors import BackendError
from calipers.interfaces import FullBackend

_TRIES = 3


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
    word = improbable(rng)
    try:
        completion = await patient.complete(form_question(form, word, params=patient.params), backend)
    except (BackendError, TimeoutError) as error:
        return Check(name, "unknown", f"could not be found out: {error or 'no time left'}", {"applied": None})
    refused = backend.learned().get("refused", ())
    if form in refused:
        return Check(name, "note", "refused by the server, so it is not asked for", {"applied": False, "refused": True})
    applied = form_applied(form, word, completion)
    if applied is None:
        says = f"could not be found out: the reply was cut at {LIMIT:,} tokens, before it said anything"
        return Check(name, "unknown", says, {"applied": None})
    if applied:
        return Check(name, "good", "applied: a reply the question does not suggest was forced", {"applied": True})
    return Check(name, "bad", "accepted and ignored: the reply did not follow it", {"applied": False, "refused": False})


def takes_forms(backend: FullBackend) -> bool:
    """Whether this backend asks a server for structured output at all."""
    return isinstance(backend, Negotiated) and bool(backend.forms)
