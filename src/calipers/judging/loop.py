"""The loop that queries the judge about one group: plan, frame, ask, read; then plan again with the new answers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real

from calipers.backends.limits.failed_calls import Meter
from calipers.config.grouped_options import Observer
from calipers.config.settings import Settings
from calipers.errors import BackendError, CalipersError, ConfigError, PermanentError
from calipers.interfaces import (
    Aggregator,
    GroupAggregator,
    JudgingProtocol,
    Planner,
    RewardTransform,
    Store,
)
from calipers.judging.instances import JudgeInstances
from calipers.pacing import pace_of_loop
from calipers.render import Unfit, fit_question, omission_lines, window_from_refusal
from calipers.types import (
    NO_FAILED_CALLS,
    Answered,
    Ask,
    Completion,
    Failure,
    JudgeRequest,
    PlanState,
    Reading,
    RenderedGroup,
    Scores,
    Window,
    no_scores,
)


@dataclass(frozen=True, slots=True)
class Strategies:
    """The strategies that a run's settings name, for all its groups; ``assembly`` builds them."""

    protocol: JudgingProtocol
    planner: Planner
    aggregate: Aggregator
    reward: RewardTransform

    def rewards(self, scores: Scores, view: RenderedGroup) -> tuple[list[float | None], tuple[str, ...]]:
        """After judging a group, return the rewards for its scores, and a warning if some are no numbers.

        The transform may be a user's: NaN and infinity are no signal. Raises ConfigError if it gives anything but a
        number or None for each candidate.
        """
        given = self.reward(scores, view)
        if len(given) != len(scores.values):
            raise ConfigError(f"the reward gives {len(given)} rewards for {len(scores.values)} candidates")
        found = [_finite(one) for one in given]
        lost = [one for one, kept in zip(given, found, strict=True) if one is not None and kept is None]
        return found, (f"the reward gives {lost[0]} for a candidate: no signal",) if lost else ()


@dataclass(frozen=True, slots=True)
class QueryLoop:
    """The loop that queries the judge about one group; ``number`` is the group's number in the run that ``store``
    records.

    ``ends`` is when the group's deadline passes, by the event loop's clock.
    """

    strategies: Strategies
    judges: JudgeInstances
    observer: Observer | None
    view: RenderedGroup
    number: int
    settings: Settings
    store: Store
    ends: float | None = None

    async def run(self) -> tuple[tuple[Answered, ...], Scores]:
        """While judging a group, ask until the planner has no more questions or ``ends`` has passed.

        Returns all answers and the scores. Raises errors that are not the judge's, such as LedgerError; a judge's
        failures are in the answers.
        """
        answered: tuple[Answered, ...] = ()
        while True:
            state = PlanState(self.view, answered, self.scores(answered), self.settings.seed)
            asks = self.strategies.planner.next_asks(state)
            if not asks or any(_is_deadline(done) for done in answered):
                return answered, state.scores
            answered += (await self._ask(asks[0]),) if len(asks) == 1 else await self._ask_all(asks)

    async def _ask_all(self, asks: Sequence[Ask]) -> tuple[Answered, ...]:
        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(self._ask(ask)) for ask in asks]
        except* CalipersError as errors:
            # Not the judge's error (the ledger's disk is full, for example): raise it once, not for every question.
            raise errors.exceptions[0] from None
        return tuple(task.result() for task in running)

    async def _ask(self, ask: Ask) -> Answered:
        pace = pace_of_loop()
        await pace.gather()
        window = ask.window or self.settings.judges[ask.slot].window
        whole = self.strategies.protocol.frame(ask, self.view)
        if self.settings.tools.names and self.view.artifacts:
            return await self._ask_with_tools(ask, whole, window)
        fit = fit_question(whole, window, self.strategies.protocol.frame)
        if isinstance(fit, Unfit):
            await self.store.note(self.number, whole, fit.failure)
            return Answered(ask, fit.failure, omitted=fit.omitted)
        request = fit.request
        await asyncio.sleep(0)  # yield, as in ``Judge``, so that other groups' questions are framed meanwhile
        await pace.pause()
        meter = Meter()
        answer, question = await self._answer(replace(request, on_failed_call=meter.add), window, meter)
        if isinstance(answer, Failure):
            await self.store.note(self.number, request, answer)
            return Answered(ask, answer, failed=answer.failed, question=question, omitted=fit.omitted)
        reading = self._read(request, answer, fit.omitted)
        await self.store.note(self.number, request, reading)
        return Answered(ask, reading, answer.usage, answer.failed or NO_FAILED_CALLS, question, fit.omitted)

    async def _ask_with_tools(self, ask: Ask, whole: JudgeRequest, window: Window | None) -> Answered:
        """Ask a question whose answer may call tools first: a turn after the other, each recorded like a question."""
        from calipers.judging.inspection import Inspection, window_beside  # noqa: PLC0415 - few judges have tools

        beside, room = window_beside(window)
        fit = fit_question(whole, beside, self.strategies.protocol.frame)
        if isinstance(fit, Unfit):
            await self.store.note(self.number, whole, fit.failure)
            return Answered(ask, fit.failure, omitted=fit.omitted)
        seen = Inspection(fit.request, self.settings.tools.names, room)
        while True:
            request, meter = seen.request, Meter()
            answer, question = await self._answer(replace(request, on_failed_call=meter.add), window, meter)
            if isinstance(answer, Failure) or answer.finish_reason != "tool_calls":
                break
            outcome = await seen.follow(answer, question)
            await self.store.note(self.number, request, seen.turns[-1].result)
            if isinstance(outcome, Failure):
                request, answer, question = seen.request, outcome, ""
                break
        turns = tuple(seen.turns)
        if isinstance(answer, Failure):
            await self.store.note(self.number, request, answer)
            return Answered(ask, answer, failed=answer.failed, question=question, omitted=fit.omitted, turns=turns)
        reading = self._read(fit.request, answer, fit.omitted)
        await self.store.note(self.number, request, reading)
        failed = answer.failed or NO_FAILED_CALLS
        return Answered(ask, reading, answer.usage, failed, question, fit.omitted, turns)

    async def _answer(
        self, request: JudgeRequest, window: Window | None, meter: Meter
    ) -> tuple[Completion | Failure, str]:
        """Ask the judge; return its answer or a failure, either with its failed calls, and the question's key in the
        ledger.

        The key is empty if it is unknown.
        """
        if self.ends is not None and asyncio.get_running_loop().time() >= self.ends:
            return self._too_late(meter), ""  # a call now would be cancelled, and might be billed
        clock = None if self.ends is None else asyncio.timeout_at(self.ends)
        try:
            answer = self.store.answer(self.number, request, self.judges[request.ask.slot].backend)
            if clock is None:
                completion = await answer
            else:
                async with clock:
                    completion = await answer
        except BackendError as error:
            failure = replace(_failure(error, request, window), failed=error.failed or meter.total)
            if failure.window is not None:
                self.judges[request.ask.slot].window.learn_from_refusal(failure.window)
            return failure, error.question
        except CalipersError:
            raise
        except Exception as error:  # noqa: BLE001 - a user's Backend may fail in any way; its failure is data here
            if clock is not None and clock.expired():
                return self._too_late(meter), ""
            reason = f"the judge's backend raised {type(error).__name__}: {error}"
            return Failure("internal", reason, failed=meter.total), ""
        if completion.failed is None:  # a user's own Store does not count failed calls
            completion = replace(completion, failed=meter.total)
        return completion, completion.question

    def _too_late(self, meter: Meter) -> Failure:
        return Failure("deadline", f"the group's deadline of {self.settings.deadline} s passed", failed=meter.total)

    def _read(self, request: JudgeRequest, completion: Completion, too_long: Mapping[int, str]) -> Reading:
        reading = self.strategies.protocol.read(request, completion)
        if request.view is not self.view:
            shortened = omission_lines(self.view, request.view, request.ask.order)
            missing = {**reading.missing, **too_long}
            reading = replace(reading, missing=missing, warnings=(*reading.warnings, *shortened))
        if self.observer is not None:
            self.observer(request, completion, reading)
        return reading

    def scores(self, answered: Sequence[Answered]) -> Scores:
        """Return the scores that follow from some of the answers in judging a group."""
        if not answered and not self.view.rubrics:
            return no_scores(len(self.view.candidates))
        readings = [done.result for done in answered if isinstance(done.result, Reading)]
        judgments = [judgment for reading in readings for judgment in reading.judgments]
        aggregate = self.strategies.aggregate
        if self.view.rubrics and isinstance(aggregate, GroupAggregator):
            aggregate = aggregate.of(self.view)
        return aggregate(judgments, len(self.view.candidates))


def _finite(reward: object) -> float | None:
    """Return a reward that a user's transform gives as a finite number, or None."""
    if reward is not None and not isinstance(reward, Real):
        raise ConfigError(f"the reward gives {reward!r:.80}, where a number or None (no signal) is needed")
    number = reward if reward is None or isinstance(reward, int | float) else float(reward)
    return number if number is not None and math.isfinite(number) else None


def _failure(error: BackendError, request: JudgeRequest, window: Window | None) -> Failure:
    if not isinstance(error, PermanentError):
        return Failure(error.kind, str(error))
    found = window_from_refusal(request, error.limit, error.prompt, window) if error.kind == "context_window" else None
    return Failure(error.kind, str(error), error.fatal, error.limit, error.prompt, found)


def _is_deadline(done: Answered) -> bool:
    return isinstance(done.result, Failure) and done.result.kind == "deadline"
