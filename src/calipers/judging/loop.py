"""The loop that queries the judge about one group: plan, frame, ask, read; then plan again with the new answers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real

from calipers.config.grouped_options import Observer
from calipers.config.settings import Settings
from calipers.errors import BackendError, CalipersError, ConfigError, PermanentError
from calipers.interfaces import Aggregator, GroupAggregator, JudgingProtocol, Planner, RewardTransform, Store
from calipers.judging.instances import JudgeInstances
from calipers.pacing import pace_of_loop
from calipers.protocols.tools import window_beside
from calipers.render import Unfit, fit_question, omission_lines, window_from_refusal
from calipers.types import (
    NO_FAILED_CALLS,
    Answered,
    Ask,
    Completion,
    FailedCall,
    FailedCalls,
    Failure,
    JudgeRequest,
    Judgment,
    PlanState,
    Reading,
    RenderedGroup,
    Scores,
    Window,
    no_scores,
)

_AT_ONCE = 2048
"""At most so many questions about a group are asked together, and none after some that a spent budget left unanswered.

A recorded answer needs no budget."""


@dataclass(frozen=True, slots=True)
class Strategies:
    """The strategies that a run's settings name, for all its groups; ``assembly`` builds them."""

    protocol: JudgingProtocol
    planner: Planner
    aggregate: Aggregator
    reward: RewardTransform

    def rewards(self, scores: Scores, view: RenderedGroup) -> tuple[list[float | None], tuple[str, ...]]:
        """Return the rewards for its scores, and a warning if some are no numbers.

        The transform may be a user's: NaN and infinity are no signal. Raises ConfigError if it gives anything but a
        number or None for each candidate.
        """
        raw = self.reward(scores, view)
        if len(raw) != len(scores.values):
            raise ConfigError(f"the reward gives {len(raw)} rewards for {len(scores.values)} candidates")
        rewards: list[float | None] = []
        lost: list[str] = []
        for reward in raw:
            if reward is not None and not isinstance(reward, Real):
                raise ConfigError(f"the reward gives {reward!r:.80}, where a number or None (no signal) is needed")
            if reward is not None and not math.isfinite(reward):
                lost.append(f"the reward gives {reward} for a candidate: no signal")
                reward = None  # noqa: PLW2901 - no number
            rewards.append(reward if reward is None or isinstance(reward, int | float) else float(reward))
        return rewards, tuple(lost[:1])


@dataclass(frozen=True, slots=True)
class QueryLoop:
    """The loop that queries the judge about one group; ``number`` is the group's number in the run that ``store``
    records.

    ``observers`` see every answer. ``ends`` is when the group's deadline passes, by the event loop's clock.
    """

    strategies: Strategies
    judges: JudgeInstances
    observers: Sequence[Observer]
    view: RenderedGroup
    number: int
    settings: Settings
    store: Store
    ends: float | None = None

    async def run(self) -> tuple[tuple[Answered, ...], Scores]:
        """While judging a group, ask until the planner has no more questions, or a limit ends all that are left.

        Returns all answers and the scores. Raises errors that are not the judge's, such as LedgerError; a judge's
        failures are in the answers.
        """
        answered: tuple[Answered, ...] = ()
        scores = self._scores(()) if self.view.rubrics else no_scores(len(self.view.candidates))
        ended = False
        while True:
            state = PlanState(self.view, answered, scores, self.settings.seed)
            asks = () if ended else self.strategies.planner.next_asks(state)
            if not asks:
                return answered, scores
            for start in range(0, len(asks), _AT_ONCE):
                part = asks[start : start + _AT_ONCE]
                new = (await self._ask(part[0]),) if len(part) == 1 else await self._ask_all(part)
                answered += new
                kinds = set[str]()
                for answer in new:
                    kinds.add(answer.result.kind if isinstance(answer.result, Failure) else "")
                is_spent = "budget" in kinds and "" not in kinds and start + _AT_ONCE < len(asks)
                if ended := is_spent or "deadline" in kinds:
                    break
            scores = self._scores(answered)

    async def _ask_all(self, asks: Sequence[Ask]) -> tuple[Answered, ...]:
        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(self._ask(ask)) for ask in asks]
        except* CalipersError as errors:
            # Not the judge's error (the ledger's disk is full, for example): raise it once, not for every question.
            raise errors.exceptions[0] from None
        return tuple(task.result() for task in running)

    async def _ask(self, ask: Ask) -> Answered:
        """Ask one question, and read the answer.

        A judge with tools may call them first: each of these turns is a request of its own, recorded like a question.
        """
        pace = pace_of_loop()
        await pace.gather()
        protocol, known = self.strategies.protocol, self.settings.judges[ask.slot]
        window = ask.window
        if window is None and known.context_window is not None:
            window = Window(known.context_window, known.bytes_per_token)
        request = protocol.frame(ask, self.view)
        omitted: Mapping[int, str] = {}
        tools = self.settings.tools.names if self.view.artifacts else ()
        beside, room = window_beside(window) if tools else (window, 0)
        if beside is not None:
            fit = fit_question(request, beside, protocol.frame)
            if isinstance(fit, Unfit):
                await self.store.note(self.number, request, fit.failure)
                return Answered(ask, fit.failure, omitted=fit.omitted)
            request, omitted = fit.request, fit.omitted
        await pace.pause()
        asked, turns = request, tuple[Answered, ...]()
        if tools:
            asked, answer, question, turns = await self._answer_with_tools(request, tools, room, window)
        else:
            answer, question = await self._answer(request, window)
        failed = answer.failed or NO_FAILED_CALLS
        if isinstance(answer, Failure):
            await self.store.note(self.number, asked, answer)
            return Answered(ask, answer, None, failed, question, omitted, turns)
        reading = self._read(request, answer, omitted)
        await self.store.note(self.number, asked, reading)
        return Answered(ask, reading, answer.usage, failed, question, omitted, turns)

    async def _answer_with_tools(
        self, request: JudgeRequest, tools: Sequence[str], room: int, window: Window | None
    ) -> tuple[JudgeRequest, Completion | Failure, str, tuple[Answered, ...]]:
        """Ask a judge that may call tools first; return its last request, the answer with its key, and the turns."""
        from calipers.judging.toolbox import Inspection  # noqa: PLC0415 - few judges have tools

        inspection = Inspection(request, tools, room)
        while True:
            asked = inspection.request
            answer, question = await self._answer(asked, window)
            if isinstance(answer, Failure) or answer.finish_reason != "tool_calls":
                return asked, answer, question, tuple(inspection.turns)
            outcome = await inspection.follow(answer, question)
            await self.store.note(self.number, asked, inspection.turns[-1].result)
            if isinstance(outcome, Failure):
                return inspection.request, outcome, "", tuple(inspection.turns)

    def _read(self, request: JudgeRequest, answer: Completion, omitted: Mapping[int, str]) -> Reading:
        reading = self.strategies.protocol.read(request, answer)
        if request.view is not self.view:
            shortened = omission_lines(self.view, request.view, request.ask.order)
            missing = {**reading.missing, **omitted}
            reading = replace(reading, missing=missing, warnings=(*reading.warnings, *shortened))
        for observe in self.observers:
            observe(request, answer, reading)
        return reading

    async def _answer(self, asked: JudgeRequest, window: Window | None) -> tuple[Completion | Failure, str]:
        """Ask the judge; return its answer or a failure, either with its failed calls, and the question's key in the
        ledger.

        The key is empty if it is unknown.
        """
        calls: list[FailedCall] = []
        judge = self.judges[asked.ask.slot]
        request = replace(asked, on_failed_call=calls.append)
        late = self.ends is not None and asyncio.get_running_loop().time() >= self.ends
        clock = asyncio.timeout_at(self.ends)
        try:
            if not late:  # a call now would be cancelled, and might be billed
                async with clock:
                    completion = await self.store.answer(self.number, request, judge.backend)
        except BackendError as error:
            failure = _failure(error, request, window)
            failure = replace(failure, failed=error.failed or FailedCalls.of(calls))
            if failure.window is not None:
                judge.window.learn_from_refusal(failure.window)
            return failure, error.question
        except CalipersError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's Backend may fail in any way, which is data
            late = clock.expired()
            if not late:
                reason = f"the judge's backend raised {type(error).__name__}: {error}"
                return Failure("internal", reason, failed=FailedCalls.of(calls)), ""
        if late:
            reason = f"the group's deadline of {self.settings.deadline} s passed"
            return Failure("deadline", reason, failed=FailedCalls.of(calls)), ""
        if completion.failed is None:  # a user's own Store does not count failed calls
            completion = replace(completion, failed=FailedCalls.of(calls))
        return completion, completion.question

    def _scores(self, answered: Sequence[Answered]) -> Scores:
        """Return the scores that follow from some of the answers in judging a group."""
        judgments: list[Judgment] = []
        for answer in answered:
            if isinstance(answer.result, Reading):
                judgments += answer.result.judgments
        aggregate = self.strategies.aggregate
        if self.view.rubrics and isinstance(aggregate, GroupAggregator):
            aggregate = aggregate.of(self.view)
        return aggregate(judgments, len(self.view.candidates))


def _failure(error: BackendError, request: JudgeRequest, window: Window | None) -> Failure:
    if not isinstance(error, PermanentError):
        return Failure(error.kind, str(error))
    limit = window_from_refusal(request, error.limit, error.prompt, window) if error.kind == "context_window" else None
    return Failure(error.kind, str(error), error.fatal, error.limit, error.prompt, limit)
