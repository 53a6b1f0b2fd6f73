"""Examines a judge and its server: sends the questions in order, and makes the diagnosis from the answers.

Cheap questions come first. If they fail, no more questions are sent.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from calipers.backends.limits.budget import find_pricing
from calipers.backends.names import url_without_password
from calipers.backends.negotiation import Negotiated
from calipers.backends.server import HttpBackend
from calipers.doctor import checks
from calipers.doctor.checks import Check, Conclusion, Diagnosis
from calipers.doctor.examinee import Answers, Examinee
from calipers.doctor.probes import INJECTIONS, PROBES
from calipers.errors import BackendError, ConfigError
from calipers.interfaces import FullBackend
from calipers.types import Ask, Completion, Failure, JudgeRequest, RenderedGroup

_MAIN_SHARE = 0.6
"""The share of the time for the main questions, so that a slow judge still gets every kind of question."""
_IN_FLIGHT = 8
_LONGER = "it is not known whether it judges well: ask again with a larger --within, and --timeout if a call needs it"
_LIMIT: Final = 2048
"""The most tokens of a reply: enough for reasoning before the answer, and a limit for replies that would not end."""
_TRIES = 3
_LETTERS = "bcdfghjkmnpqrstvwxz"
_NOT_SENT = frozenset({"response_format", "seed", "temperature"})
"""A user's response format would replace the tested one, and fixed sampling would repeat a reply."""
_QUESTION = 'Name a fruit. Answer as JSON: {"answer": ...}'
_FORM: Final = "json_schema"
_NOBODY = RenderedGroup("", (), "", "", (), ())
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


async def diagnose(  # noqa: PLR0913 - settings of a run, each by its name
    judge: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    params: Mapping[str, Any] | None = None,
    max_tokens: int | None = 8192,
    timeout: float = 60.0,  # noqa: ASYNC109 - a run's setting, and not this function's
    within: float = 60.0,
    concurrency: int | None = None,
    price: Sequence[float] | None = None,
    rng: random.Random | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """Examine the judge of this name within ``within`` seconds, with about thirty short questions.

    ``timeout`` is in seconds per call. ``params`` are sent with every question, as in a run. ``price`` is as in Judge.
    ``concurrency`` calls (8) are in flight at once. ``rng`` draws the constants of the format tests. ``tell`` is
    called with a line of progress. No failure of a judge or server raises: a test that is not possible becomes a check
    with the reason. Raises ConfigError for invalid settings before any server is contacted.
    """
    started = time.monotonic()
    examinee = Examinee(
        judge,
        until=started + within,
        within=within,
        base_url=base_url,
        api_key=api_key,
        params=params or {},
        max_tokens=max_tokens,
        timeout=timeout,
        price=None if price is None else tuple(price),
        concurrency=concurrency or _IN_FLIGHT,
    )
    backend = examinee.backend()
    find_pricing(backend.endpoint, backend.model, price=price)
    rng = rng or random.Random()  # noqa: S311 - no secret
    tell("is the server reachable?")
    reachable = await _reachability(examinee.backend())
    checks_by_name = {reachable.name: reachable}
    conclusion, reason, settings = await _examine(examinee, checks_by_name, rng, tell)
    if conclusion != "unfit":
        settings = _settings_of_run(examinee, concurrency) | settings
    used, seconds = examinee.spent, time.monotonic() - started
    return Diagnosis(
        examinee.shown,
        tuple(checks_by_name.values()),
        conclusion,
        reason,
        settings,
        calls=used.calls,
        sent=used.sent,
        usage=used.usage,
        seconds=seconds,
    )


async def _examine(
    examinee: Examinee, made: dict[str, Check], rng: random.Random, tell: Callable[[str], None]
) -> tuple[Conclusion, str, dict[str, Any]]:
    """Ask everything, add the checks to ``made``, and return verdict, reason and settings."""
    answering = _who_answers(examinee.backend())

    def note(*found: Check) -> None:
        made.update((check.name, check) for check in found)

    if made["reachable"].standing == "bad":
        return "unfit", made["reachable"].says, {}
    tell("does it answer?")
    first = await examinee.ask(PROBES[:1], orders=2)
    if not first.received:
        check = _no_answer(examinee, first.failures)
        note(check)
        return "unfit", check.says, {}

    tell("is a schema applied? how does it score the probes?")
    early = replace(examinee, until=time.monotonic() + _MAIN_SHARE * examinee.seconds_left)
    applied, rest = await asyncio.gather(_applied_schema(examinee, rng), early.ask(PROBES[1:], orders=2))
    main = first + rest
    note(applied)

    tell("does it resist prompt injection?")
    injected = await examinee.ask(INJECTIONS)
    note(
        checks.format_check(main),
        checks.agreement_check(PROBES, main),
        flips := checks.flip_check(main),
        checks.orders_check(main, flips),
        checks.injection_check(INJECTIONS, injected),
        *checks.speed_checks(main, in_flight=examinee.concurrency, who=answering),
    )
    return checks.conclude(made, timeout=examinee.timeout, too_slow=_too_slow(examinee, main))


def _no_answer(examinee: Examinee, failures: Iterable[Failure]) -> Check:
    """Return the check that a first question without any answer decides."""
    failure = next(iter(failures), None)
    if failure is None:
        return Check("answers", "bad", "it gave no answer")
    if failure.kind == "deadline":
        says = f"too slow to be examined: no answer came in {examinee.within:g} s; {_LONGER}"
        return Check("answers", "unknown", says)
    return Check("answers", "bad", failure.reason)


def _too_slow(examinee: Examinee, main: Answers) -> str | None:
    if not any(failure.kind == "deadline" for failure in main.failures):
        return None
    came = f"{len(main.received)} of {main.asked} answers came in {examinee.within:g} s"
    return f"too slow to be examined: {came}; {_LONGER}"


def _settings_of_run(examinee: Examinee, concurrency: int | None) -> dict[str, Any]:
    """Return the settings with which the judge was examined, as keys of calipers.toml."""
    settings = {
        "judge": examinee.shown,
        "base-url": examinee.base_url and url_without_password(examinee.base_url),
        "max-tokens": examinee.max_tokens if examinee.max_tokens != 8192 else None,
        "concurrency": concurrency,
        "param": [f"{name}={json.dumps(value)}" for name, value in examinee.params.items()] or None,
    }
    return {name: value for name, value in settings.items() if value is not None}


# --- the server ---


async def _reachability(backend: FullBackend) -> Check:
    """Return whether the judge answers, accepts the key and has the model, as far as that is known before a question.

    If this is bad, no question can succeed.
    """
    try:
        warnings = [*backend.warnings, *await backend.check()]
    except ConfigError as error:
        return Check("reachable", "bad", str(error))
    return Check("reachable", "note" if warnings else "good", " ".join(warnings) or f"{_who_answers(backend)} answers")


def _who_answers(backend: FullBackend) -> str:
    """Return what the doctor calls the judge in its checks: not every judge is behind a server of its own."""
    return "the server" if isinstance(backend, HttpBackend) else "the judge"


async def _applied_schema(examinee: Examinee, rng: random.Random) -> Check:
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
        completion = await examinee.complete(_schema_request(word, params=examinee.params), backend)
    except (BackendError, TimeoutError) as error:
        why = examinee.time_is_up if isinstance(error, TimeoutError) else str(error)
        return Check(name, "unknown", f"not tested: {why}", {"applied": None})
    if _FORM in backend.learned().get("refused", ()):
        return Check(name, "note", "refused by the server, so it is not requested", {"applied": False, "refused": True})
    applied = _is_applied(word, completion)
    if applied is None:
        says = f"not known: the reply was cut off at {_LIMIT:,} tokens, before its answer"
        return Check(name, "unknown", says, {"applied": None})
    if applied:
        return Check(name, "good", "applied: it forced a reply that the question does not suggest", {"applied": True})
    return Check(name, "bad", "accepted and ignored: the reply did not follow it", {"applied": False, "refused": False})


def _schema_request(word: str, *, params: Mapping[str, Any]) -> JudgeRequest:
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
    return JudgeRequest(messages, (), Ask(0, (), ()), _NOBODY, schema, _LIMIT, sent)


def _is_applied(word: str, completion: Completion) -> bool | None:
    """Return whether the server applied the schema in its answer; None if that was cut off too early to show it."""
    if word in completion.text:
        return True
    # A cut-off reply proves that the schema was ignored only if it began differently, because some grammars allow
    # endless white space.
    text = re.sub(r"\s", "", _THOUGHT.sub("", completion.text))
    begun = f'{{"answer":"{word}"}}'.startswith(text)
    return None if completion.finish_reason == "length" and begun else False
