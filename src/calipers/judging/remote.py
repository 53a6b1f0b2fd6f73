"""A Judge that processes share: one process owns it, asks and records; others read, render and score with it.

The owner has the backends with their limits, budget, learned facts and ledger. So whatever happens to another process,
its questions in flight are still answered and recorded, and nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeAlias

from calipers.config.settings import Settings
from calipers.errors import ConfigError, LedgerError
from calipers.interfaces import FullBackend, Store
from calipers.judging.api import check_or_continue
from calipers.judging.judge import Judge, store_of
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
Note: TypeAlias = tuple[JudgeRequest, Reading | Failure]
"""A request, without its texts, and how it ended."""
_NOTHING: Final = RenderedGroup("", (), "", "", (), ())


class SharedJudge(Judge):
    """The Judge of several processes, in the process that owns it. ``start`` comes first.

    Its groups are numbered by the callers, so that a group that is judged again, after its process was killed, is
    recorded in its own place.
    """

    async def start(self, first: TrajectoryGroup | None) -> Sequence[str]:
        """Check the judge, begin the run, and return warnings. ``first`` is the run's first group, if it is known.

        Raises ConfigError as ``check`` does, and for options that only work in a single process.
        """
        records = self.settings.records
        single = {"watchers": records.watchers, "debug": records.debug}
        if names := [name for name, value in single.items() if value]:
            raise ConfigError(
                f"{', '.join(names)} only works where one process judges all groups: leave it out, or judge without Ray"
            )
        warnings = list(await check_or_continue(self))
        store_of(self, first)
        return warnings

    def begin(self, last: int) -> Settings:
        """Return the settings for groups up to number ``last`` that begin now."""
        with self._lock:
            self._begun = max(self._begun, last + 1)
            return self.settings

    async def answer(self, number: int, request: JudgeRequest) -> Outcome:
        """Return the answer to a request about group ``number``, from the ledger or from the judge, or the error."""
        judge = self._judges[request.ask.slot]
        try:
            completion = await store_of(self).answer(number, request, judge.backend)
        except Exception as error:  # noqa: BLE001 - raised in the process that asks
            return error
        return replace(completion, sent=None)

    async def finish(self, number: int, group: TrajectoryGroup, result: GroupResult, notes: Sequence[Note]) -> None:
        """Record how the questions about group ``number`` ended, and its result. Raises LedgerError."""
        answered = [Answered(request.ask, ended) for request, ended in notes]
        for request, ended in notes:
            await store_of(self).note(number, request, ended)
            if isinstance(ended, Failure) and ended.window is not None:
                self._judges[request.ask.slot].window.learn_from_refusal(ended.window)
        self._learn(answered)
        await store_of(self).finish(number, group, result)


class Owner(Protocol):
    """The process that owns a SharedJudge, as other processes reach it."""

    async def answer(self, number: int, request: JudgeRequest) -> Outcome: ...

    async def finish(
        self, number: int, group: TrajectoryGroup, result: GroupResult, notes: Sequence[Note]
    ) -> LedgerError | None: ...


class RemoteStore(Store):
    """The store of a process that judges groups with a judge of ``owner``, which asks and records; ``numbers`` are the
    groups' own, in their order.

    ``replaying_judge`` makes a Judge of it and the settings that the owner's ``begin`` returned.
    """

    def __init__(self, owner: Owner, numbers: Iterable[int]) -> None:
        self._owner = owner
        self._numbers: Iterator[int] = iter(numbers)
        self._notes: dict[int, list[Note]] = {}

    async def begin(self) -> int:
        """Return the number of the next group of the batch in the run that the ledger records."""
        return next(self._numbers)

    async def answer(self, number: int, request: JudgeRequest, backend: FullBackend) -> Completion:
        """Return the answer that the owner has recorded. Raises what the owner's backend raised."""
        # Judges behind HTTP read the messages alone; the candidates as data would double what is sent.
        view = _NOTHING if backend.endpoint.startswith("http") else request.view
        outcome = await self._owner.answer(number, replace(request, on_failed_call=None, view=view))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def note(self, number: int, request: JudgeRequest, result: Reading | Failure) -> None:
        """Keep how a request ended until the ledger gets the group's result."""
        slim = replace(request, messages=(), schema=None, on_failed_call=None, view=_NOTHING)
        self._notes.setdefault(number, []).append((slim, result))

    async def finish(self, number: int, group: TrajectoryGroup, result: GroupResult) -> None:
        """Record the group and its result in the ledger of the owner. Raises LedgerError."""
        error = await self._owner.finish(number, group, result, self._notes.pop(number, []))
        if error is not None:
            raise error
