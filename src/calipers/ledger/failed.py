"""Failed calls in the ledger, recorded when they fail, so that even a killed run has its complete bill.

Once a request has an answer, its failed calls are recorded with that answer. A request may never end, because the
process was killed or the group cancelled. Then the next run with the same request counts its failed calls, so that a
resumed run reports the same cost as an uninterrupted run.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from calipers.backends.limits.metered import Meter
from calipers.ledger.reading import LedgerFile
from calipers.ledger.sqlite import Ledger
from calipers.types import FailedCall, FailedCalls, JudgeRequest, Usage
from calipers.types.encoding import to_json_text

_INSERT: Final = "INSERT OR REPLACE INTO failed_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DELETE: Final = "DELETE FROM failed_calls WHERE run = ? AND position = ? AND number = ? AND call = ?"
_LEFT: Final = """SELECT run, position, number, call, one.key, kind, metered, input_tokens, output_tokens,
cached_tokens, cost_usd FROM failed_calls AS one LEFT JOIN asks USING (run, position, number) WHERE asks.outcome IS NULL
AND NOT EXISTS (SELECT 1 FROM answers WHERE answers.key = one.key) ORDER BY run, position, number, call"""

_Row = tuple[int, int, int, int]
"""The primary key of a failed call: run, position, number and call."""


class FailedLog:
    """The failed calls of ``run`` in the ledger, including those that it takes over from earlier runs."""

    def __init__(self, ledger: Ledger, run: int) -> None:
        self._ledger = ledger
        self._run = run
        self._left: dict[str, list[tuple[_Row, FailedCall]]] = {}
        for *row, key, kind, metered, given, produced, cached, cost in ledger.rows(_LEFT):
            usage = Usage(given, produced, cached, cost) if metered else None
            self._left.setdefault(key, []).append(((row[0], row[1], row[2], row[3]), FailedCall(kind, usage)))

    def log_for_request(self, position: int, request: JudgeRequest, key: str) -> RequestFailures:
        """Return the ledger's log of failed calls for a request that begins, with the calls that it takes over from
        earlier runs.
        """
        asking = RequestFailures(self._ledger, (self._run, position, request.ask.number), key, request)
        asking.take_over(self._left.pop(key, ()))
        return asking


class RequestFailures(Meter):
    """Records the failed calls of a single request. ``add`` is the request's ``on_failed_call``."""

    __slots__ = ("_ask", "_key", "_ledger")

    def __init__(self, ledger: Ledger, ask: tuple[int, int, int], key: str, request: JudgeRequest) -> None:
        super().__init__(request.on_failed_call)
        self._ledger = ledger
        self._ask = ask
        self._key = key

    def take_over(self, left: Iterable[tuple[_Row, FailedCall]]) -> None:
        """Take over the ledger's failed calls of an equal request in an earlier run that never ended."""
        for row, call in left:
            self._ledger.put(_DELETE, row)
            self.add(call)

    def add(self, call: FailedCall) -> None:
        """Record a failed call in the ledger. It is on disk after the next turn of the event loop."""
        usage = call.usage or Usage()
        tokens = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost_usd)
        about = (len(self.calls), self._key, call.kind, int(call.usage is not None))
        when = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._ledger.put(_INSERT, (*self._ask, *about, *tokens, when))
        self._ledger.commit_soon()
        super().add(call)


def record_failed_calls(ledger: Ledger, key: str, failed: FailedCalls) -> None:
    """Record a request's failed calls together with its answer, under the ledger key ``key``."""
    if failed.count:
        ledger.put("INSERT OR IGNORE INTO failed_before VALUES (?, ?)", (key, to_json_text(failed.to_dict())))


def find_failed_calls(ledger: LedgerFile, key: str, attempts: int) -> FailedCalls:
    """Return the failed calls in the ledger before a recorded answer that took ``attempts`` calls.

    Ledgers of calipers 0.1 hold only the number of these calls.
    """
    if attempts <= 1:
        return FailedCalls()
    found: list[tuple[Any, ...]] = ledger.rows("SELECT value FROM failed_before WHERE key = ?", (key,))
    return ledger.decoded(found[0][0], FailedCalls.from_dict) if found else FailedCalls(attempts - 1)
