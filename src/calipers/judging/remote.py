"""A Judge that processes share: one process owns it, asks and records; others read, render and score with it.

The owner has the backends with their limits, budget, learned facts and ledger. So whatever happens to another process,
its questions in flight are still answered and recorded, and nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from calipers.config.settings import Settings
from calipers.errors import ConfigError, LedgerError
from calipers.interfaces import FullBackend, Store
from calipers.judging.api import check_or_continue
from calipers.judging.instances import JudgeInstance
from calipers.judging.judge import Judge
from calipers.protocols.question import Parse
from calipers.types import (
    Answered,
    Completion,
    Failure,
    GroupResult,
    JudgeRequest,
    Reading,
    RenderedGroup,
    TrajectoryGroup,
)

Outcome: TypeAlias = Completion | Exception
"""A judge's answer, or the error that there was instead."""
Asked: TypeAlias = tuple[str, str]
"""Which judge is asked: its endpoint and model. A writer of criteria is none of the slots."""
Note: TypeAlias = tuple[JudgeRequest, Reading | Failure, Asked | None]
"""A request, without its texts, how it ended, and who was asked; None if nobody was."""


class SharedJudge(Judge):
    """The Judge of several processes, in the process that owns it. ``start`` comes first.

    Its groups are numbered by the callers, so that a group that is judged again, after its process was killed, is
    recorded in its own place.
    """

    async def start(self, first: TrajectoryGroup | None) -> Sequence[str]:
        """Check the judge, begin the run, and return warnings. ``first`` is the run's first group, if it is known.

        Raises ConfigError as ``check`` does, and for options that only work in a single process.
        """
        self._require_shareable()
        warnings = list(await check_or_continue(self))
        if first is None:
            _ = self.store
        else:
            self.begin_run_with(first)
        return warnings

    def _require_shareable(self) -> None:
        records = self.settings.records
        single = {"watchers": records.watchers, "observer": records.observer, "debug": records.debug}
        if given := [name for name, value in single.items() if value]:
            raise ConfigError(
                f"{', '.join(given)} only works where one process judges all groups: leave it out, or judge without Ray"
            )

    def begin(self, last: int) -> Settings:
        """Return the settings for groups up to number ``last`` that begin now."""
        with self._lock:
            self._begun = max(self._begun, last + 1)
            return self.settings

    async def answer(self, number: int, request: JudgeRequest, asked: Asked) -> Outcome:
        """Return the answer to a request about group ``number``, from the ledger or from the judge, or the error."""
        judge = self._instance(asked)
        try:
            completion = await self.store.answer(number, request, judge.backend)
        except Exception as error:  # noqa: BLE001 - raised in the process that asks
            return error
        return replace(completion, sent=None)

    async def finish(self, number: int, group: TrajectoryGroup, result: GroupResult, notes: Sequence[Note]) -> None:
        """Record how the questions about group ``number`` ended, and its result. Raises LedgerError."""
        of_slots = [_address(judge) for judge in self._judges]
        self._judges.count_outcomes(
            [Answered(request.ask, ended) for request, ended, asked in notes if asked is None or asked in of_slots]
        )
        for request, ended, asked in notes:
            await self.store.note(number, request, ended)
            if isinstance(ended, Failure) and ended.window is not None and asked is not None:
                self._instance(asked).window.learn_from_refusal(ended.window)
        await self._finish(group, number, result)

    def _instance(self, asked: Asked) -> JudgeInstance:
        return next(judge for judge in self._judges.everyone if _address(judge) == asked)


def _address(judge: JudgeInstance) -> Asked:
    return judge.bare.endpoint, judge.bare.model


class Owner(Protocol):
    """The process that owns a SharedJudge, as other processes reach it."""

    async def answer(self, number: int, request: JudgeRequest, asked: Asked) -> Outcome: ...

    async def finish(
        self, number: int, group: TrajectoryGroup, result: GroupResult, notes: Sequence[Note]
    ) -> LedgerError | None: ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Groups that a process begins together: the ``settings`` for them, and their ``numbers`` in the run."""

    settings: Settings
    numbers: Sequence[int]


def judge_of_batch(owner: Owner, batch: Batch, *, parse: Parse | None = None) -> Judge:
    """Return a Judge for the groups of ``batch``, in their order, whose questions ``owner`` asks and records."""
    return Judge.replaying(batch.settings, RemoteStore(owner, batch.numbers), parse=parse)


class RemoteStore(Store):
    """The store of a process that judges groups with a judge of ``owner``; ``numbers`` are the groups' own."""

    def __init__(self, owner: Owner, numbers: Iterable[int]) -> None:
        self._owner = owner
        self._numbers: Iterator[int] = iter(numbers)
        self._notes: dict[int, list[Note]] = {}
        self._asked: dict[tuple[int, int], Asked] = {}

    async def begin(self) -> int:
        """Return the number of the next group of the batch in the run that the ledger records."""
        return next(self._numbers)

    async def answer(self, number: int, request: JudgeRequest, backend: FullBackend) -> Completion:
        """Return the answer that the owner has recorded. Raises what the owner's backend raised."""
        asked = self._asked[number, request.ask.number] = (backend.endpoint, backend.model)
        # Judges behind HTTP read the messages alone; the candidates as data would double what is sent.
        view = _NOTHING if backend.endpoint.startswith("http") else request.view
        outcome = await self._owner.answer(number, replace(request, on_failed_call=None, view=view), asked)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def note(self, number: int, request: JudgeRequest, result: Reading | Failure) -> None:
        """Keep how a request ended until the ledger gets the group's result."""
        slim = replace(request, messages=(), schema=None, on_failed_call=None, view=_NOTHING)
        asked = self._asked.pop((number, request.ask.number), None)
        self._notes.setdefault(number, []).append((slim, result, asked))

    async def finish(self, number: int, group: TrajectoryGroup, result: GroupResult) -> None:
        """Record the group and its result in the ledger of the owner. Raises LedgerError."""
        error = await self._owner.finish(number, group, result, self._notes.pop(number, []))
        if error is not None:
            raise error


_NOTHING = RenderedGroup("", (), "", "", (), ())
