"""The examination: what is asked in which order, and the diagnosis it ends in.

Cheap questions come first, and where they fail nothing more is asked. Not responsible for what figures mean
(``verdict``) or for showing them (``cli``).
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.backends.limits.prices import find_pricing
from calipers.doctor import habits, opinions, verdict
from calipers.doctor.canary import canary, takes_forms
from calipers.doctor.diagnosis import Check, Diagnosis
from calipers.doctor.entrance import entrance
from calipers.doctor.patient import Answers, Patient
from calipers.doctor.probes import INJECTIONS, PROBES
from calipers.doctor.report import form_check, order_check, right_check, talked_check
from calipers.types import Failure

_OBJECT: Mapping[str, Any] = {"response_format": {"type": "json_object"}}
_NO_FORM = ("json_schema", "json_object")
_TWICE = 2
"""Probes that are asked twice at temperature 0."""
_WITHOUT_A_FORM = 4
"""Probes that are asked without a form: a third of them says enough, and tokens cost."""

_MAIN_SHARE = 0.6

_SHOWN_BY_FAILURE = {"unauthorized": "authorised", "not_found": "model"}


async def diagnose(  # noqa: PLR0913 - settings of a run, each by its name
    judge: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    params: Mapping[str, Any] | None = None,
    max_tokens: int | None = 8192,
    timeout: float = 60.0,  # noqa: ASYNC109 - a run's setting, and not this function's
    within: float = 60.0,
    concurrency: int = 8,
    price: Sequence[float] | None = None,
    rng: random.Random | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """Examine the judge of this name within ``within`` seconds, with some forty short questions.

    ``timeout`` is in seconds a call, ``params`` go with every question as in a run, ``price`` is as in Judge, ``rng`` draws the canaries' constants, and
    ``tell`` hears what is being done. Never raises for what a judge or server does: what cannot be found out is a check
    that says so. Raises ConfigError, before anything is contacted, for settings that cannot work.
    """
    started = time.monotonic()
    patient = Patient(
        judge,
        until=started + within,
        base_url=base_url,
        api_key=api_key,
        params=params or {},
        max_tokens=max_tokens,
        timeout=timeout,
        price=None if price is None else tuple(price),
        concurrency=concurrency,
    )
    found = patient.backend()
    find_pricing(found.endpoint, found.model, price=price)
    diagnosis = await _Examination(patient, rng or random.Random(), tell, within).run()  # noqa: S311 - no secret
    seconds = time.monotonic() - started
    return replace(diagnosis, calls=patient.spent.calls, usage=patient.spent.usage, seconds=seconds)


class _Examination:
    """One examination of one judge."""

    def __init__(self, patient: Patient, rng: random.Random, tell: Callable[[str], None], within: float) -> None:
        self.patient = patient
        self.rng = rng
        self.tell = tell
        self.within = within
        self.checks: list[Check] = []

    async def run(self) -> Diagnosis:
        self.tell("is anything there?")
        self.checks += await entrance(self.patient.backend())
        if bad := next((one for one in self.checks if one.standing == "bad"), None):
            return self._unfit(bad.says)
        self.tell("does it answer?")
        first = await self.patient.ask(PROBES[:1], orders=2)
        if not first.heard:
            return self._unfit(self._no_answer(first.failures))
        self._answered()
        self.tell("which form is applied? what does it think of the probes?")
        forms, main = await asyncio.gather(self._forms(), self._early().ask(PROBES[1:], orders=2))
        self.checks += forms
        return await self._examined(first + main)

    async def _examined(self, main: Answers) -> Diagnosis:
        settings: dict[str, tuple[Any, str]] = {}
        if verdict.another_form_is_worth_a_try(opinions.obedience(main), self.checks):
            self.tell("is it better with a plain JSON form?")
            other = await self.patient.ask(PROBES, orders=2, params=_OBJECT)
            if opinions.obedience(other).used > opinions.obedience(main).used:
                main = other
                why = "the schema is ignored, and the plain JSON form is kept"
                settings["param"] = (['response_format={"type": "json_object"}'], why)
        self.tell("is it talked round? does it repeat itself? what does a short limit do?")
        chosen = _OBJECT if settings else {}
        talked, repeated, cut, plain, odds = await asyncio.gather(
            self.patient.ask(INJECTIONS, params=chosen),
            self._twice({**chosen, "temperature": 0}),
            self.patient.ask(PROBES[:1], max_tokens=habits.SHORT, params=chosen),
            self._without_a_form(),
            self._expected(chosen),
        )
        found = verdict.Findings(
            opinions.obedience(main),
            opinions.agreement(PROBES, main),
            opinions.flips(main),
            *opinions.obeyed(INJECTIONS, talked),
            form=next(one.figures.get("applied") for one in self.checks if one.name == "json_schema applied"),
            too_slow=self._too_slow(main),
        )
        self.checks += [form_check("answers", found.obedience)]
        self.checks += [form_check("answers without a form", opinions.obedience(plain))] if plain else []
        self.checks += [
            right_check(found.agreement),
            order_check(found.flips),
            talked_check(found.obeyed, found.injected),
        ]
        self.checks += [
            habits.served(main),
            habits.thinking(main),
            habits.truncation(cut),
            habits.repeatability(repeated),
            habits.probabilities(odds),
        ]
        self.checks += habits.speed(main, in_flight=self.patient.concurrency)
        settings |= verdict.settings_for(found, self.checks, timeout=self.patient.timeout)
        conclusion, reason = verdict.conclude(found, settings)
        if conclusion == "unfit":
            return self._unfit(reason)
        return Diagnosis(self.patient.judge, tuple(self.checks), conclusion, reason, self._settings(settings))

    async def _forms(self) -> list[Check]:
        # One after the other: they draw from one generator.
        return [await canary(self.patient, form, self.rng) for form in ("json_schema", "json_object")]

    async def _twice(self, params: Mapping[str, Any]) -> Answers:
        # Not as two samples of one judge: those are asked by new keys, so that it is another question.
        first, second = [await self.patient.ask(PROBES[:_TWICE], params=params) for _ in range(2)]
        return first + second

    async def _without_a_form(self) -> Answers | None:
        """Only where a form is asked for in the first place."""
        if not takes_forms(self.patient.backend()):
            return None
        return await self.patient.ask(PROBES[:_WITHOUT_A_FORM], without=_NO_FORM)

    async def _expected(self, params: Mapping[str, Any]) -> Answers | None:
        """Only where the API has probabilities at all."""
        if not self.patient.backend().has_logprobs:
            return None
        return await self.patient.ask(PROBES[:1], params=params, expected=True)

    def _early(self) -> Patient:
        """With a share of the time left only, so that a slow judge is asked a little of everything."""
        return replace(self.patient, until=time.monotonic() + _MAIN_SHARE * self.patient.left)

    def _answered(self) -> None:
        """What the list of models left open, an answer settles."""
        settled = {"authorised": "a question was answered", "model": "a question was answered under this name"}
        self.checks = [
            replace(one, standing="note" if one.name == "model" else "good", says=f"{settled[one.name]}; {one.says}")
            if one.standing == "unknown" and one.name in settled
            else one
            for one in self.checks
        ]

    def _no_answer(self, failures: tuple[Failure, ...]) -> str:
        """Why nothing came back; a check is made bad where the failure belongs to one."""
        if not failures:
            return "it gave no answer"
        failure = failures[0]
        if failure.kind == "deadline":
            return f"too slow: it did not answer the first probe within {self.within:g} s"
        name = _SHOWN_BY_FAILURE.get(failure.kind, "answers")
        self.checks = [one for one in self.checks if one.name != name] + [Check(name, "bad", failure.reason)]
        return failure.reason

    def _too_slow(self, main: Answers) -> str | None:
        if not any(failure.kind == "deadline" for failure in main.failures):
            return None
        return f"too slow: {len(main.heard)} of {main.asked} answers came in the time there was ({self.within:g} s for all)"

    def _settings(self, wanted: Mapping[str, tuple[Any, str]]) -> dict[str, Any]:
        patient = self.patient
        own: dict[str, Any] = {"judge": patient.judge}
        if patient.base_url is not None:
            own["base-url"] = patient.base_url
        if patient.max_tokens not in {None, 8192}:
            own["max-tokens"] = patient.max_tokens
        given = [f"{name}={json.dumps(value)}" for name, value in patient.params.items()]
        found = {name: value for name, (value, _) in wanted.items()}
        if given:
            found["param"] = given + found.get("param", [])
        return own | found

    def _unfit(self, reason: str) -> Diagnosis:
        return Diagnosis(self.patient.judge, tuple(self.checks), "unfit", reason)
