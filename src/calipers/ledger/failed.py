"""Failed calls in the ledger, recorded when they fail, so that even a killed run has its complete bill.

Once a request has an answer, its failed calls are recorded with that answer. A request may never end, because the
process was killed or the group cancelled. Then the next run with the same request counts its failed calls, so that a
resumed run reports the same cost as an uninterrupted run.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from calipers.backends.limits.metered import Meter
from calipers.ledger.database import ReadableLedger, Row, WritableLedger
from calipers.ledger.tables import FAILED_BEFORE, FAILED_CALLS
from calipers.types import FailedCall, FailedCalls, JudgeRequest, Usage
from calipers.types.encoding import to_json_text

_DELETE: Final = "DELETE FROM failed_calls WHERE run = ? AND position = ? AND number = ? AND call = ?"
_LEFT: Final = """SELECT run, position, number, call, one.key, kind, metered, input_tokens, output_tokens,
cached_tokens, cost_usd FROM failed_calls AS one LEFT JOIN asks USING (run, position, number) WHERE asks.outcome IS NULL
AND NOT EXISTS (SELECT 1 FROM answers WHERE answers.key = one.key)"""
_IN_ORDER: Final = " ORDER BY run, position, number, call"

_Place = tuple[int, int, int, int]
"""The primary key of a failed call: run, position, number and call."""


class FailedLog:
    """The failed calls of ``run`` in the ledger, including those that it takes over from earlier runs."""

    def __init__(self, ledger: WritableLedger, run: int) -> None:
        self._ledger = ledger
        self._run = run
        self._left = _by_key(ledger.rows(_LEFT + _IN_ORDER))

    async def log_for_request(
        self, position: int, request: JudgeRequest, key: str, *, owner_died: bool
    ) -> RequestFailures:
        """Return the ledger's log of failed calls for a request that begins, with the calls that it takes over from
        earlier runs.

        ``owner_died`` says that another process was asking the same request and ended.
        """
        left = self._left.pop(key, [])
        if owner_died or (left and self._ledger.claims):  # other processes may have recorded more since, or finished
            left = _by_key(await self._ledger.look_up(f"{_LEFT} AND one.key = ?{_IN_ORDER}", (key,))).get(key, [])
        asking = RequestFailures(self._ledger, (self._run, position, request.ask.number), key, request)
        asking.take_over(left)
        return asking


def _by_key(rows: Iterable[Row]) -> dict[str, list[tuple[_Place, FailedCall]]]:
    found: dict[str, list[tuple[_Place, FailedCall]]] = {}
    for run, position, number, call, key, kind, metered, given, produced, cached, cost in rows:
        usage = Usage(given, produced, cached, cost) if metered else None
        found.setdefault(key, []).append(((run, position, number, call), FailedCall(kind, usage)))
    return found


class RequestFailures(Meter):
    """Records the failed calls of a single request. ``add`` is the request's ``on_failed_call``."""

    __slots__ = ("_ask", "_key", "_ledger")

    def __init__(self, ledger: WritableLedger, ask: tuple[int, int, int], key: str, request: JudgeRequest) -> None:
        super().__init__(request.on_failed_call)
        self._ledger = ledger
        self._ask = ask
        self._key = key

    def take_over(self, left: Iterable[tuple[_Place, FailedCall]]) -> None:
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
        self._ledger.put(FAILED_CALLS.insert_or_replace, (*self._ask, *about, *tokens, when))
        self._ledger.commit_soon()
        super().add(call)


def record_failed_calls(ledger: WritableLedger, key: str, failed: FailedCalls) -> None:
    """Record a request's failed calls together with its answer, under the ledger key ``key``."""
    if failed.count:
        ledger.put(FAILED_BEFORE.insert_new, (key, to_json_text(failed.to_dict())))


async def find_failed_calls(ledger: ReadableLedger, key: str, attempts: int) -> FailedCalls:
    """Return the failed calls in the ledger before a recorded answer that took ``attempts`` calls.

    Ledgers of calipers 0.1 hold only the number of these calls.
    """
    if attempts <= 1:
        return FailedCalls()
    found = await ledger.look_up("SELECT value FROM failed_before WHERE key = ?", (key,))
    return ledger.decoded(found[0][0], FailedCalls.from_dict) if found else FailedCalls(attempts - 1)
