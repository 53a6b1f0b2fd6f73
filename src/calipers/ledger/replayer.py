"""Replays a recorded run: equal requests get the recorded answers and failures, and no judge is called."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calipers.config.settings import Settings
from calipers.errors import PermanentError
from calipers.interfaces import FullBackend, Store
from calipers.ledger.answers import ATTEMPT, find_answer, find_failure, find_run
from calipers.ledger.calls import ledger_key
from calipers.ledger.contents import recorded_groups
from calipers.ledger.database import ReadableLedger
from calipers.ledger.opening import open_ledger
from calipers.types import Completion, JudgeRequest


class Replayer(Store):
    """The store that replays a recorded run: it returns the run's answers and raises its failures."""

    replays = True

    def __init__(self, ledger: ReadableLedger, run: int | None = None) -> None:
        self._ledger = ledger
        self.recorded = find_run(ledger, run, replayed=True)
        self._numbers: deque[int] = deque()

    def settings(self) -> Settings:
        """Return the settings of the run that is replayed. Raises LedgerError for damaged ones."""
        [(settings,)] = self._ledger.rows("SELECT settings FROM runs WHERE id = ?", (self.recorded.id,))
        return self._ledger.decoded(settings, Settings.of)

    def groups(self) -> Iterator[Mapping[str, Any]]:
        """Yield the groups of the ledger's run in input order, as in a groups file. ``begin`` returns their numbers in
        the same order.
        """
        for number, group in recorded_groups(self._ledger, self.recorded.id, "source"):
            self._numbers.append(number)
            yield group

    async def begin(self) -> int:
        """Return the ledger's number of the next of ``groups``, or -1 if the recorded run does not have it."""
        return self._numbers.popleft() if self._numbers else -1

    async def answer(self, number: int, request: JudgeRequest, backend: FullBackend) -> Completion:
        """Return the ledger's answer to this request, or raise its recorded failure again."""
        key = ledger_key(request, backend)
        rows = await self._ledger.look_up(
            "SELECT key, detail FROM asks WHERE run = ? AND position = ? AND number = ?",
            (self.recorded.id, number, request.ask.number),
        )
        recorded = str(rows[0][0]) if rows else key
        # A request without a key was never sent, because its group's deadline had passed.
        if recorded and recorded.partition(ATTEMPT)[0] != key:
            raise PermanentError("not_recorded", "this version of calipers puts the question differently than recorded")
        if rows and (error := find_failure(self._ledger, rows[0][1])) is not None:
            error.question = rows[0][0]
            raise error
        completion = await find_answer(self._ledger, recorded or key)
        if completion is None:
            raise PermanentError("not_recorded", "the ledger has no answer to this question")
        return completion


class Replay(FullBackend):
    """The judge ``replay:LEDGER``. It returns every answer of the judge in the ledger's latest run, and no other
    answers.

    Raises LedgerError when the ledger cannot be read or holds no run.
    """

    def __init__(self, location: str | Path) -> None:
        self._ledger = open_ledger(location, create=False)
        settings = find_run(self._ledger).settings
        first = settings["judges"][0]
        self.endpoint = first["endpoint"]
        self.model = first["model"]
        self.warnings = tuple(settings["warnings"])
        self.has_tools = True  # an answer in the ledger may be a call of tools

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the judge's answer that the ledger holds. Raises PermanentError ("not_recorded") if there is none."""
        completion = await find_answer(self._ledger, ledger_key(request, self))
        if completion is None:
            raise PermanentError("not_recorded", f"{self._ledger.name} has no answer to this question")
        return completion


class RecordedBackend(FullBackend):
    """The backend of a replayed run: it has the recorded judge's endpoint and model, and is never called."""

    def __init__(self, endpoint: str, model: str, warnings: tuple[str, ...] = ()) -> None:
        self.endpoint = endpoint
        self.model = model
        self.warnings = warnings

    async def complete(self, request: JudgeRequest) -> Completion:  # noqa: ARG002 - the seam
        """Raise PermanentError, because a replay has only the ledger's answers."""
        raise PermanentError("not_recorded", "a replay asks nobody")
