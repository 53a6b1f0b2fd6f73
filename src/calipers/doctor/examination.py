"""Examines a judge: sends the questions in order, and makes the diagnosis from the answers.

Cheap questions come first. If they fail, no more questions are sent.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.backends.limits.budget import find_pricing
from calipers.backends.names import url_without_password
from calipers.doctor import checks
from calipers.doctor.checks import Check, Conclusion, Diagnosis
from calipers.doctor.examinee import Answers, Examinee
from calipers.doctor.probes import INJECTIONS, PROBES
from calipers.doctor.server import check_applied_schema, check_reachability, who_answers
from calipers.types import Failure

_MAIN_SHARE = 0.6
"""The share of the time for the main questions, so that a slow judge still gets every kind of question."""
_IN_FLIGHT = 8
_LONGER = "it is not known whether it judges well: ask again with a larger --within, and --timeout if a call needs it"


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
    reachable = await check_reachability(examinee.backend())
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
    answering = who_answers(examinee.backend())

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
    applied, rest = await asyncio.gather(check_applied_schema(examinee, rng), early.ask(PROBES[1:], orders=2))
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
