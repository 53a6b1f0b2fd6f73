"""Reads a ledger: answers, the ends of requests, runs, and what was learned about judges.

Not responsible for writing the ledger (``recorder``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.config.settings import readable_settings
from calipers.errors import LedgerError, PermanentError
from calipers.interfaces import Backend
from calipers.ledger.database import ReadableLedger
from calipers.ledger.failed import find_failed_calls
from calipers.types import Completion, FailedCalls, Logprobs, Usage
from calipers.types.encoding import finite_number

_ANSWER = """SELECT text, finish_reason, reasoning, served_model, input_tokens, output_tokens, cached_tokens, cost_usd,
latency, attempts, odds.value FROM answers LEFT JOIN odds USING (key) WHERE key = ?"""


async def find_answer(ledger: ReadableLedger, key: str) -> Completion | None:
    """Return the ledger's answer to the request with this key, or None."""
    found = await ledger.look_up(_ANSWER, (key,))
    if not found:
        return None
    text, finish_reason, reasoning, model, given, produced, cached, cost, latency, attempts, logprobs = found[0]
    counts, numbers = (given, produced, cached, attempts), (latency, 0.0 if cost is None else cost)
    if not (
        all(isinstance(one, str) for one in (text, finish_reason, reasoning, model or ""))
        and all(isinstance(one, int) and one >= 0 for one in counts)
        and all(finite_number(one) is not None for one in numbers)
    ):
        raise ledger.damaged()
    return Completion(
        text,
        finish_reason,
        reasoning,
        model,
        Usage(given, produced, cached, cost),
        latency=latency,
        attempts=attempts,
        recorded=True,
        logprobs=None if logprobs is None else ledger.decoded(logprobs, _logprobs),
        failed=await find_failed_calls(ledger, key, attempts),
        question=key,
    )


def _logprobs(recorded: Sequence[Any]) -> Logprobs:
    return tuple((at, tuple((token, chance) for token, chance in alternatives)) for at, alternatives in recorded)


def has_answers(ledger: ReadableLedger, backend: Backend) -> bool:
    """Return whether the ledger has an answer of this judge from any run."""
    query = "SELECT 1 FROM answers WHERE endpoint = ? AND model = ? LIMIT 1"
    return bool(ledger.rows(query, (backend.endpoint, backend.model)))


def find_failure(ledger: ReadableLedger, detail: str | bytes) -> PermanentError | None:
    """Return the failure in the ``detail`` of a request in the ledger, or None if the judge's answer was read."""
    return ledger.decoded(detail, _failure)


def _failure(detail: Any) -> PermanentError | None:
    if "kind" not in require_object(detail):
        return None
    limit, prompt = detail.get("limit"), detail.get("prompt")
    error = PermanentError(detail["kind"], detail["reason"], fatal=detail["fatal"], limit=limit, prompt=prompt)
    failed = detail.get("failed_calls")
    error.failed = FailedCalls() if failed is None else FailedCalls.from_dict(failed)
    return error


def find_learned(ledger: ReadableLedger, endpoint: str, model: str) -> Mapping[str, Any]:
    """Return what the ledger holds of what earlier runs learned about a judge, as plain JSON, or an empty mapping if
    nothing is recorded.
    """
    known = ledger.rows("SELECT value FROM learned WHERE endpoint = ? AND model = ?", (endpoint, model))
    return ledger.decoded(known[0][0], require_object) if known else {}


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A recorded run in the ledger."""

    id: int
    version: str
    settings: Mapping[str, Any]
    learned: Sequence[Mapping[str, Any]]


def find_run(ledger: ReadableLedger, run: int | None = None) -> RecordedRun:
    """Return a recorded run of the ledger, by default the latest.

    Raises LedgerError, with a list of the recorded runs, if the run does not exist.
    """
    query = "SELECT id, version, settings, learned FROM runs"
    found = (
        ledger.rows(f"{query} ORDER BY id DESC LIMIT 1")
        if run is None
        else ledger.rows(f"{query} WHERE id = ?", (run,))
    )
    if not found:
        runs = ", ".join(str(row[0]) for row in ledger.rows("SELECT id FROM runs ORDER BY id")) or "none"
        what = "no run is recorded in it" if run is None else f"it has no run {run} (recorded: {runs})"
        raise LedgerError(f"{ledger.name}: {what}.")
    number, version, settings, learned = found[0]
    return RecordedRun(number, version, ledger.decoded(settings, readable_settings), ledger.decoded(learned, _objects))


def require_object(recorded: Any) -> dict[str, Any]:
    """Return ``recorded`` if it is a JSON object. Raises TypeError for anything else that the ledger holds."""
    if not isinstance(recorded, dict):
        raise TypeError
    return recorded


def _objects(recorded: Any) -> list[dict[str, Any]]:
    return [require_object(one) for one in recorded]
