"""Examines a judge: sends the questions in order, and makes the diagnosis from the answers.

Cheap questions come first. If they fail, no more questions are sent.
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
from calipers.backends.names import url_without_password
from calipers.doctor import behaviour, probe_statistics, verdict
from calipers.doctor.applied_format import check_applied_format, takes_forms
from calipers.doctor.checks import agreement_check, flip_check, format_check, injection_check
from calipers.doctor.diagnosis import Check, Diagnosis
from calipers.doctor.examinee import Answers, Examinee, Spent
from calipers.doctor.probes import INJECTIONS, PROBES
from calipers.doctor.reachability import check_reachability, who_answers
from calipers.types import Failure, Usage

_OBJECT: Mapping[str, Any] = {"response_format": {"type": "json_object"}}
_NO_FORM = ("json_schema", "json_object")
_TWICE = 2
"""The number of probes that are asked twice at temperature 0."""
_WITHOUT_A_FORM = 4
"""The number of probes that are asked without an output format. A third of them is enough, and tokens cost money."""

_MAIN_SHARE = 0.6

_IN_FLIGHT = 8
"""The calls in flight to a server that does not say how many requests it runs at once."""
_QUESTIONS, _QUESTIONS_WITHOUT_FORMS = 39, 33
"""The calls of a whole examination of a judge that is asked for output formats, and of one that is not."""

_CHECK_OF_FAILURE = {"unauthorized": "authorised", "not_found": "model"}


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
    spent: Callable[[int, Usage], object] = lambda calls, usage: None,  # noqa: ARG005 - tells nobody
) -> Diagnosis:
    """Have the doctor examine the judge of this name within ``within`` seconds, with about forty short questions.

    ``timeout`` is in seconds per call. ``params`` are sent with every question, as in a run. ``price`` is as in Judge.
    ``concurrency`` calls are in flight at once: by default as many as the server says that it runs, else 8.
    ``rng`` draws the constants of the format tests. ``tell`` is called with a line of progress, and ``spent`` with
    the answers and the usage that are added as they arrive. No failure of a judge or server raises: a test that is not
    possible becomes a check with the reason. Raises ConfigError for invalid settings before any server is contacted.
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
        turns=asyncio.Semaphore(concurrency or _IN_FLIGHT),
        spent=Spent(tell=spent),
    )
    found = examinee.backend()
    find_pricing(found.endpoint, found.model, price=price)
    examination = _Examination(examinee, rng or random.Random(), tell, started)  # noqa: S311 - no secret
    examination.in_flight = concurrency
    diagnosis, used = await examination.run(), examinee.spent
    seconds = time.monotonic() - started
    return replace(diagnosis, calls=used.calls, sent=used.sent, usage=used.usage, seconds=seconds)


class _Examination:
    """One examination of one judge."""

    in_flight: int | None = None
    """The calls in flight that the user wants; None: as many as the server says that it runs at once."""

    def __init__(self, examinee: Examinee, rng: random.Random, tell: Callable[[str], None], started: float) -> None:
        self.examinee = examinee
        self.rng = rng
        self.tell = tell
        self.started = started
        self.checks: list[Check] = []
        self.ask_within: int | None = None
        self.who = who_answers(examinee.backend())

    async def run(self) -> Diagnosis:
        self.tell("is the server reachable?")
        self.checks += await check_reachability(self.examinee.backend())
        if bad := next((one for one in self.checks if one.standing == "bad"), None):
            return self._unfit(bad.says)
        slots = next((one.figures["slots"] for one in self.checks if one.name == "slots"), None)
        if slots is not None:
            wanted = self.in_flight or slots
            self.in_flight = wanted
            self.examinee = replace(self.examinee, concurrency=wanted, turns=asyncio.Semaphore(wanted))
        self.tell("does it answer?")
        first = await self.examinee.ask(PROBES[:1], orders=2)
        if not first.received:
            return self._unfit(self._no_answer(first.failures))
        self._answered()
        self.tell("which output format is applied? how does it score the probes?")
        forms, main = await asyncio.gather(self._forms(), self._early().ask(PROBES[1:], orders=2))
        self.checks += forms
        return await self._examined(first + main)

    async def _examined(self, main: Answers) -> Diagnosis:
        settings: dict[str, tuple[Any, str]] = {}
        if verdict.should_try_json_object(probe_statistics.format_figures(main), self.checks):
            self.tell("is it better with the plain JSON format?")
            other = await self.examinee.ask(PROBES, orders=2, params=_OBJECT)
            if probe_statistics.format_figures(other).used > probe_statistics.format_figures(main).used:
                main = other
                why = "the server ignores the schema, but applies the plain JSON format"
                settings["param"] = (['response_format={"type": "json_object"}'], why)
        self.tell("does it resist prompt injection? is it repeatable? what does a short limit do?")
        chosen = _OBJECT if settings else {}
        injected, repeated, cut, plain, expected = await asyncio.gather(
            self.examinee.ask(INJECTIONS, params=chosen),
            self._twice({**chosen, "temperature": 0}),
            self.examinee.ask(PROBES[:1], max_tokens=behaviour.SHORT, params=chosen),
            self._without_a_form(),
            self._expected(chosen),
        )
        found = verdict.Findings(
            probe_statistics.format_figures(main),
            probe_statistics.measure_agreement(PROBES, main),
            probe_statistics.count_flips(main),
            *probe_statistics.count_obeyed(INJECTIONS, injected),
            form=next(one.figures.get("applied") for one in self.checks if one.name == "json_schema applied"),
        )
        found = self._with_time(found, main)
        self.checks += [format_check("answers", found.format_figures)]
        self.checks += [format_check("answers without a form", probe_statistics.format_figures(plain))] if plain else []
        self.checks += [
            agreement_check(found.agreement),
            flip_check(found.flips),
            injection_check(found.obeyed, found.injected, asked=injected.asked, why=_first_reason(injected)),
        ]
        self.checks += [
            behaviour.check_served_model(main, who=self.who),
            behaviour.check_reasoning(main),
            behaviour.check_truncation(cut, who=self.who),
            behaviour.check_repeatability(repeated),
            behaviour.check_probabilities(expected, who=self.who),
        ]
        self.checks += behaviour.check_speed(main, in_flight=self.examinee.concurrency, who=self.who)
        settings |= verdict.settings_for(found, self.checks, timeout=self.examinee.timeout)
        conclusion, reason = verdict.conclude_fitness(found, settings)
        if conclusion == "unfit":
            self.ask_within = self.ask_within if verdict.is_open(found) else None
            return self._unfit(reason)
        if not found.injected and any(one.kind == "deadline" for one in injected.failures):
            reason += f"; whether it resists prompt injection is not known: {self._again(main)}"
        return Diagnosis(self.examinee.shown, tuple(self.checks), conclusion, reason, self._settings(settings))

    async def _forms(self) -> list[Check]:
        # The tests run one after the other, because they share a random generator.
        return [await check_applied_format(self.examinee, form, self.rng) for form in ("json_schema", "json_object")]

    async def _twice(self, params: Mapping[str, Any]) -> Answers:
        # Two samples of one judge would get different keys, and so would be different questions.
        first, second = [await self.examinee.ask(PROBES[:_TWICE], params=params) for _ in range(2)]
        return first + second

    async def _without_a_form(self) -> Answers | None:
        """Return the judge's answers without an output format, or None if this judge never gets an output format."""
        if not takes_forms(self.examinee.backend()):
            return None
        return await self.examinee.ask(PROBES[:_WITHOUT_A_FORM], without=_NO_FORM)

    async def _expected(self, params: Mapping[str, Any]) -> Answers | None:
        """Return the judge's answers with logprobs, or None if its API has none."""
        if not self.examinee.backend().has_logprobs:
            return None
        return await self.examinee.ask(PROBES[:1], params=params, expected=True)

    def _early(self) -> Examinee:
        """Return the examinee with only a part of the remaining time, so that a slow judge still gets every kind of
        question.
        """
        return replace(self.examinee, until=time.monotonic() + _MAIN_SHARE * self.examinee.seconds_left)

    def _answered(self) -> None:
        """Complete the checks that the list of models left unknown. They are passed, because the judge answered a
        question.
        """
        settled = {"authorised": "a question was answered", "model": "a question was answered under this name"}
        self.checks = [
            replace(one, standing="note" if one.name == "model" else "good", says=f"{settled[one.name]}; {one.says}")
            if one.standing == "unknown" and one.name in settled
            else one
            for one in self.checks
        ]

    def _no_answer(self, failures: tuple[Failure, ...]) -> str:
        """Return why the judge gave no answer. If the failure belongs to a check, set that check to bad."""
        if not failures:
            return "it gave no answer"
        failure = failures[0]
        if failure.kind == "deadline":
            within = self.examinee.within
            self.checks += [Check("answers", "unknown", f"none arrived: {self.examinee.time_is_up}")]
            return (
                f"too slow to be examined: no answer came in {within:g} s, so it is not known whether it judges well; "
                f"{self._again()}, or more"
            )
        name = _CHECK_OF_FAILURE.get(failure.kind, "answers")
        self.checks = [one for one in self.checks if one.name != name] + [Check(name, "bad", failure.reason)]
        return failure.reason

    def _with_time(self, found: verdict.Findings, main: Answers) -> verdict.Findings:
        """Return what was found, with what is open because time ran out."""
        if not any(failure.kind == "deadline" for failure in main.failures):
            return found
        came = f"{len(main.received)} of {main.asked} answers came in {self.examinee.within:g} s"
        says = f"too slow to be examined: {came}, so it is not known whether it judges well; {self._again(main)}"
        return replace(found, too_slow=says, best_chance=probe_statistics.best_chance(PROBES, found.agreement))

    def _again(self, main: Answers | None = None) -> str:
        """Return how to examine the judge again with enough time, by the pace so far.

        ``timeout`` is part of it if the slowest answer so far took more than half of it.
        """
        examinee = self.examinee
        seconds = max(time.monotonic() - self.started, examinee.within)
        sent = _QUESTIONS if takes_forms(examinee.backend()) else _QUESTIONS_WITHOUT_FORMS
        answered = examinee.spent.calls or min(2, examinee.concurrency)  # as if the first two had come just now
        self.ask_within = verdict.seconds_needed(max(sent, examinee.spent.sent), answered=answered, seconds=seconds)
        slowest = seconds if main is None else max((one.completion.latency for one in main.received), default=0.0)
        longer = f" --timeout {verdict.round_up(4 * slowest)}" if slowest > examinee.timeout / 2 else ""
        return f"ask again with --within {self.ask_within}{longer}"

    def _settings(self, wanted: Mapping[str, tuple[Any, str]]) -> dict[str, Any]:
        examinee = self.examinee
        own: dict[str, Any] = {"judge": examinee.shown}
        if examinee.base_url is not None:
            own["base-url"] = url_without_password(examinee.base_url)
        if examinee.max_tokens not in {None, 8192}:
            own["max-tokens"] = examinee.max_tokens
        if self.in_flight is not None:
            own["concurrency"] = self.in_flight
        given = [f"{name}={json.dumps(value)}" for name, value in examinee.params.items()]
        found = {name: value for name, (value, _) in wanted.items()}
        if given:
            found["param"] = given + found.get("param", [])
        return own | found

    def _unfit(self, reason: str) -> Diagnosis:
        return Diagnosis(self.examinee.shown, tuple(self.checks), "unfit", reason, ask_within=self.ask_within)


def _first_reason(answers: Answers) -> str:
    return answers.failures[0].reason if answers.failures else ""
