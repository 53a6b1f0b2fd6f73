"""The judge ``replay:LEDGER``: answers from a ledger alone, in place of the judge that answered then."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from calipers.errors import PermanentError
from calipers.ledger.runs import find_answer, find_run, ledger_key
from calipers.ledger.sqlite import Ledger
from calipers.types import Completion, JudgeRequest


class Replay:
    """Answers every question that was answered in ``location`` by the judge of its latest run; knows no others.

    Raises LedgerError when the ledger cannot be read or holds no run.
    """

    def __init__(self, location: str | Path) -> None:
        self._ledger = Ledger(location, create=False)
        settings = find_run(self._ledger).settings
        first = settings["judges"][0]
        self.endpoint: str = first["endpoint"]
        self.model: str = first["model"]
        self.warnings: tuple[str, ...] = tuple(settings["warnings"])

    async def complete(self, request: JudgeRequest) -> Completion:
        """The recorded answer. Raises PermanentError ("not_recorded") where there is none."""
        completion = find_answer(self._ledger, ledger_key(request, self))
        if completion is None:
            raise PermanentError("not_recorded", f"{self._ledger.path} has no answer to this question")
        return completion


@dataclass(frozen=True, slots=True)
class Nobody:
    """The backend of a replayed run: it names what answered then, and is never asked."""

    endpoint: str
    model: str
    warnings: tuple[str, ...] = ()

    async def complete(self, request: JudgeRequest) -> Completion:  # noqa: ARG002 - the seam
        """Raise PermanentError: a replay has recorded answers only."""
        raise PermanentError("not_recorded", "a replay asks nobody")
