"""Tests whether a server enforces the output format that it accepted, by a format with an improbable constant in it.

Not responsible for the question (``backends.negotiation.format_probe``), or for the conclusion (``verdict``).
"""

from __future__ import annotations

import random

from calipers.backends.negotiation.format_probe import LIMIT, format_probe_request, improbable_word, is_format_applied
from calipers.backends.negotiation.negotiated import Negotiated
from calipers.backends.negotiation.step_down import Form
from calipers.doctor.diagnosis import Check
from calipers.doctor.examinee import Examinee
from calipers.errors import BackendError
from calipers.interfaces import FullBackend

_TRIES = 3


async def check_applied_format(examinee: Examinee, form: Form, rng: random.Random) -> Check:
    """Return the doctor's check whether the examined judge's server enforces, ignores or refuses ``form``. No server
    failure raises.

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
    word = improbable_word(rng)
    try:
        completion = await examinee.complete(format_probe_request(form, word, params=examinee.params), backend)
    except (BackendError, TimeoutError) as error:
        why = examinee.time_is_up if isinstance(error, TimeoutError) else str(error)
        return Check(name, "unknown", f"not tested: {why}", {"applied": None})
    refused = backend.learned().get("refused", ())
    if form in refused:
        return Check(name, "note", "refused by the server, so it is not requested", {"applied": False, "refused": True})
    applied = is_format_applied(form, word, completion)
    if applied is None:
        says = f"not known: the reply was cut off at {LIMIT:,} tokens, before its answer"
        return Check(name, "unknown", says, {"applied": None})
    if applied:
        return Check(name, "good", "applied: it forced a reply that the question does not suggest", {"applied": True})
    return Check(name, "bad", "accepted and ignored: the reply did not follow it", {"applied": False, "refused": False})


def takes_forms(backend: FullBackend) -> bool:
    """Return whether the judge that the doctor examines can request structured output at all."""
    return isinstance(backend, Negotiated) and bool(backend.forms)
