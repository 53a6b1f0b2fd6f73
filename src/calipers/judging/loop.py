"""The loop for one group: plan, frame, ask, read; plan again with what is known now.

Not responsible for how questions look (``protocols``), which are asked (``planners``), how answers travel
(``backends``), are kept (``ledger``), or become rewards (``judge``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from calipers.backends.limits.metered import Meter
from calipers.config.options import Observer
from calipers.config.settings import Settings
from calipers.errors import BackendError, CalipersError, PermanentError
from calipers.interfaces import Aggregator, GroupAggregator, JudgingProtocol, Planner, Store
from calipers.judging.members import Seat
from calipers.render import Unfit, fitted, omissions, window_from_refusal
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
    unscored,
)


@dataclass(frozen=True, slots=True)
class Interrogator:
    """The parts that every group is asked with; ``seats`` are the judges by their slots."""

    protocol: JudgingProtocol
    planner: Planner
    aggregate: Aggregator
    seats: tuple[Seat, ...]
    observer: Observer | None = None


@dataclass(frozen=True, slots=True)
class Interrogation:
    """One group being asked about. ``position`` is its place in the run that ``store`` records."""

    by: Interrogator
    view: RenderedGroup
    position: int
    settings: Settings
    store: Store
    ends: float | None = None
    """When the group's deadline passes, by the event loop's clock."""

    async def run(self) -> tuple[tuple[Answered, ...], Scores]:
        """Ask until the planner is done or ``ends`` has passed: all answers, and what they come to.

        Raises what is not the judge's doing (LedgerError, say); everything else is in the answers.
        """
        answered: tuple[Answered, ...] = ()
        while True:
            state = PlanState(self.view, answered, self._scores(answered), self.settings.seed)
            asks = self.by.planner.next_asks(state)
            if not asks or any(_is_deadline(done) for done in answered):
                return answered, state.scores
            answered += (await self._ask(asks[0]),) if len(asks) == 1 else await self._ask_all(asks)

    async def _ask_all(self, asks: Sequence[Ask]) -> tuple[Answered, ...]:
        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(self._ask(ask)) for ask in asks]
        except* CalipersError as errors:
            # Not the judge's doing (the ledger's disk is full, say): one clear error, not a group of equal ones.
            raise errors.exceptions[0] from None
        return tuple(task.result() for task in running)

    async def _ask(self, ask: Ask) -> Answered:
        window = ask.window or self.settings.judges[ask.slot].window
        whole = self.by.protocol.frame(ask, self.view)
        fit = fitted(whole, window, self.by.protocol.frame)
        if isinstance(fit, Unfit):
            await self.store.note(self.position, whole, fit.failure)
            return Answered(ask, fit.failure, omitted=fit.omitted)
        request = fit.request
        await asyncio.sleep(0)  # as in ``Judge``: others are framed meanwhile
        meter = Meter()
        answer, question = await self._answer(replace(request, on_failed_call=meter.add), window, meter)
        if isinstance(answer, Failure):
            await self.store.note(self.position, request, answer)
            return Answered(ask, answer, failed=answer.failed, question=question, omitted=fit.omitted)
        reading = self._read(request, answer, fit.omitted)
        await self.store.note(self.position, request, reading)
        return Answered(ask, reading, answer.usage, answer.failed or NO_FAILED_CALLS, question, fit.omitted)

    async def _answer(
        self, request: JudgeRequest, window: Window | None, meter: Meter
    ) -> tuple[Completion | Failure, str]:
        """The answer or what became of it, calls in vain included, and the question's name where the store told it."""
        if self.ends is not None and asyncio.get_running_loop().time() >= self.ends:
            return self._too_late(meter), ""  # before a call is begun that would be broken off and may be billed
        clock = None if self.ends is None else asyncio.timeout_at(self.ends)
        try:
            answer = self.store.answer(self.position, request, self._seat(request).backend)
            if clock is None:
                completion = await answer
            else:
                async with clock:
                    completion = await answer
        except BackendError as error:
            failure = replace(_failure(error, request, window), failed=error.failed or meter.total)
            if failure.window is not None:
                self._seat(request).gauge.refused(failure.window)
            return failure, error.question
        except CalipersError:
            raise
        except Exception as error:  # noqa: BLE001 - a user's Backend may fail in any way; its failure is data here
            if clock is not None and clock.expired():
                return self._too_late(meter), ""
            said = f"the judge's backend raised {type(error).__name__}: {error}"
            return Failure("internal", said, failed=meter.total), ""
        if completion.failed is None:  # a store of the user's own counts nothing
            completion = replace(completion, failed=meter.total)
        return completion, completion.question

    def _too_late(self, meter: Meter) -> Failure:
        return Failure("deadline", f"the group's deadline of {self.settings.deadline} s passed", failed=meter.total)

    def _seat(self, request: JudgeRequest) -> Seat:
        return self.by.seats[request.ask.slot]

    def _read(self, request: JudgeRequest, completion: Completion, too_long: Mapping[int, str]) -> Reading:
        reading = self.by.protocol.read(request, completion)
        self._seat(request).gauge.answered(request, completion)
        if request.view is not self.view:
            shortened = omissions(self.view, request.view, request.ask.order)
            missing = {**reading.missing, **too_long}
            reading = replace(reading, missing=missing, warnings=(*reading.warnings, *shortened))
        if self.by.observer is not None:
            self.by.observer(request, completion, reading)
        return reading

    def _scores(self, answered: Sequence[Answered]) -> Scores:
        if not answered and not self.view.rubrics:
            return unscored(len(self.view.candidates))
        readings = [done.result for done in answered if isinstance(done.result, Reading)]
        judgments = [judgment for reading in readings for judgment in reading.judgments]
        aggregate = self.by.aggregate
        if self.view.rubrics and isinstance(aggregate, GroupAggregator):
            aggregate = aggregate.of(self.view)
        return aggregate(judgments, len(self.view.candidates))


def _failure(error: BackendError, request: JudgeRequest, window: Window | None) -> Failure:
    if not isinstance(error, PermanentError):
        return Failure(error.kind, str(error))
    told = window_from_refusal(request, error.limit, error.prompt, window) if error.kind == "context_window" else None
    return Failure(error.kind, str(error), error.fatal, error.limit, error.prompt, told)


def _is_deadline(done: Answered) -> bool:
    return isinstance(done.result, Failure) and done.result.kind == "deadline"
