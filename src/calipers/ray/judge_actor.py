"""The process of a Ray cluster that owns the judge: it asks, keeps to limits and budget, and records.

It runs on the machine of the command, with the command's environment and folder, so keys, addresses and the ledger are
those of the command. If it ends, judging ends: the same command again continues with the answers in the ledger.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.errors import CalipersError, LedgerError
from calipers.judging.remote import Batch, Note, Outcome, SharedJudge
from calipers.ray.cluster import import_ray, this_machine
from calipers.types import GroupResult, JudgeRequest, TrajectoryGroup, Usage

_AT_ONCE = 100_000
"""Calls of the actor that may run at once; nearly all of them wait for the judge, whose own limits count."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What no group's result counts: answers ``reused`` from the ledger, and the calls and usage of probes."""

    reused: int
    probed: tuple[int, Usage]


class JudgeActor:
    """A SharedJudge as an actor of Ray. Errors of calipers are returned, not raised, because Ray wraps exceptions."""

    def __init__(self, arguments: Mapping[str, Any], environment: Mapping[str, str], folder: str) -> None:
        os.environ.update(environment)
        os.chdir(folder)
        self._arguments = arguments
        self._judge: SharedJudge
        self._tasks: dict[tuple[str, int], int] = {}
        self._numbered = 0
        self._warnings: list[str] = []
        logging.getLogger("calipers").addHandler(_Collected(self._warnings))

    async def start(self, first: TrajectoryGroup | None) -> Sequence[str] | CalipersError:
        """Build the judge, check it, and begin the run. Returns its warnings, or the error."""
        try:
            self._judge = SharedJudge(**self._arguments)
            return list(await self._judge.start(first))
        except CalipersError as error:
            return error

    async def standards(self) -> str:
        """Return the judge's rubric as text."""
        return self._judge.settings.standards

    async def has_recorded_answers(self) -> bool:
        """Return whether the ledger had answers of the judge before this run."""
        return self._judge.has_recorded_answers()

    async def begin(self, numbers: Sequence[int]) -> Batch:
        """Begin groups that have ``numbers``: those of their lines in a file, for example."""
        return Batch(self._judge.begin(max(numbers)), numbers)

    async def begin_in_task(self, task: str, part: int, groups: int) -> Batch:
        """Begin the ``groups`` of a ``part`` of a task of Ray, and number them.

        Ray repeats a task under its old name if its worker or its result was lost; the groups keep their numbers.
        """
        first = self._tasks.setdefault((task, part), self._numbered)
        self._numbered = max(self._numbered, first + groups)
        return await self.begin(range(first, first + groups))

    async def answer(self, number: int, request: JudgeRequest) -> Outcome:
        """Return the answer to a request about group ``number``, or the error."""
        return await self._judge.answer(number, request)

    async def finish(
        self, number: int, group: TrajectoryGroup, result: GroupResult, notes: Sequence[Note]
    ) -> LedgerError | None:
        """Record the result of group ``number``. Returns the error if the ledger cannot be written."""
        try:
            await self._judge.finish(number, group, result, notes)
        except LedgerError as error:
            return error
        return None

    async def require_answering(self) -> CalipersError | None:
        """Return the error if the judge refuses every question."""
        try:
            await self._judge.require_answering()
        except CalipersError as error:
            return error
        return None

    async def take_warnings(self) -> Sequence[str]:
        """Return what calipers logged as warnings since the last call."""
        taken, self._warnings[:] = list(self._warnings), []
        return taken

    async def close(self) -> Spent:
        """Close the judge and its ledger."""
        spent = Spent(self._judge.store.reused, self._judge.probed)
        await self._judge.__aexit__()
        return spent


class _Collected(logging.Handler):
    """Collects what calipers logs as warnings."""

    def __init__(self, found: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        self._found.append(record.getMessage())


class RemoteOwner:
    """The actor ``handle`` as an ``Owner`` for the process that judges groups."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._ray = import_ray()

    async def answer(self, number: int, request: JudgeRequest) -> Outcome:
        """Return the answer to a request about group ``number``, or the error."""
        reference = self._handle.answer.remote(number, request)
        try:
            outcome: Outcome = await self._of_actor(reference)
        except asyncio.CancelledError:
            self._ray.cancel(reference)  # the group's deadline passed
            raise
        return outcome

    async def finish(
        self, number: int, group: TrajectoryGroup, result: GroupResult, notes: Sequence[Note]
    ) -> LedgerError | None:
        """Record the result of group ``number``. Returns the error if the ledger cannot be written."""
        error: LedgerError | None = await self._of_actor(self._handle.finish.remote(number, group, result, notes))
        return error

    async def begin(self, numbers: Sequence[int]) -> Batch:
        """Begin the groups that have ``numbers``."""
        batch: Batch = await self._of_actor(self._handle.begin.remote(numbers))
        return batch

    async def begin_in_task(self, task: str, part: int, groups: int) -> Batch:
        """Begin and number the ``groups`` of a ``part`` of a ``task`` of Ray."""
        batch: Batch = await self._of_actor(self._handle.begin_in_task.remote(task, part, groups))
        return batch

    async def _of_actor(self, reference: Any) -> Any:
        """Return what the actor returned. Raises LedgerError if it has ended: no group can be judged then."""
        try:
            return await reference
        except self._ray.exceptions.RayActorError as error:
            raise LedgerError(
                "the process that asks the judge has ended; judge the same groups again: what was answered is in the "
                "ledger"
            ) from error


def start_judge_actor(arguments: Mapping[str, Any]) -> Any:
    """Start the actor for a judge with ``arguments`` on this machine, and return its handle. It asks nothing yet."""
    ray = import_ray()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    actor = ray.remote(num_cpus=0, max_restarts=0, max_concurrency=_AT_ONCE, label_selector=this_machine())(JudgeActor)
    return actor.remote(dict(arguments), environment, os.getcwd())  # noqa: PTH109 - text, for another process
