"""Reads a ledger: answers, the ends of requests, runs, and what was learned about judges."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from calipers.config.settings import Settings, recorded_settings
from calipers.errors import LedgerError, PermanentError
from calipers.interfaces import Backend
from calipers.ledger.database import ANSWERS, RUNS, ReadableLedger, checksum
from calipers.types import Comparison, Completion, FailedCalls, Judgment, Logprobs, Rating, Usage, Verdict
from calipers.types.encoding import finite_number, to_json_text

_log = logging.getLogger(__name__)
_ANSWER: Final = f"SELECT {', '.join(ANSWERS.columns)}, checksum FROM answers WHERE key = ?"  # noqa: S608 - our columns
ATTEMPT: Final = "~"
"""What stands between the key of a request and the number of a later attempt, if the first gave no verdict."""


async def find_answer(ledger: ReadableLedger, key: str) -> Completion | None:
    """Return the ledger's answer to the request with this key, or None. Raises LedgerError for one that was changed."""
    rows = await ledger.look_up(_ANSWER, (key,))
    if not rows:
        return None
    *row, written = rows[0]
    text, finish_reason, reasoning, model, sent, produced, cached, cost, latency, attempts = row[4:14]
    logprobs, failed = row[15:]
    counts, numbers = (sent, produced, cached, attempts), (latency, 0.0 if cost is None else cost)
    if checksum(row) != written or not (
        all(isinstance(text_field, str) for text_field in (text, finish_reason, reasoning, model or ""))
        and all(isinstance(count, int) and count >= 0 for count in counts)
        and all(finite_number(number) is not None for number in numbers)
    ):
        raise ledger.damaged(key)
    known = FailedCalls(attempts - 1) if attempts > 1 else FailedCalls()
    return Completion(
        text,
        finish_reason,
        reasoning,
        model,
        Usage(sent, produced, cached, cost),
        latency=latency,
        attempts=attempts,
        recorded=True,
        logprobs=None if logprobs is None else ledger.decoded(logprobs, _logprobs),
        failed=known if failed is None else ledger.decoded(failed, FailedCalls.from_dict),
        question=key,
    )


def keys_without_verdict(ledger: ReadableLedger, run: int) -> frozenset[str]:
    """Return the keys of the ledger's answers without a whole verdict in groups of other runs that lack a reward.

    Where a budget or deadline ended the questions, the answers still await their follow-ups.
    """
    query = (
        "SELECT asks.key FROM asks JOIN groups ON groups.run = asks.run AND groups.position = asks.position WHERE "
        "asks.outcome IN ('rejected', 'partial') AND asks.run <> ? AND groups.result LIKE '%\"reward\":null%' "
        "AND NOT EXISTS (SELECT 1 FROM asks AS ended WHERE ended.run = asks.run AND ended.position = asks.position "
        "AND ended.outcome IN ('budget', 'deadline'))"
    )
    return frozenset(key for (key,) in ledger.rows(query, (run,)))


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


def find_run(ledger: ReadableLedger, run: int | None = None, *, replayed: bool = False) -> RecordedRun:
    """Return a recorded run of the ledger, by default the latest.

    Raises LedgerError, with a list of the recorded runs, if the run does not exist; and if it is to be ``replayed`` and
    is not as it was written.
    """
    rows = ledger.rows(f"{_RUNS} WHERE id = coalesce(?, (SELECT max(id) FROM runs))", (run,))  # noqa: S608 - our columns
    if not rows:
        runs = ", ".join(str(row[0]) for row in ledger.rows("SELECT id FROM runs ORDER BY id")) or "none"
        problem = "no run is recorded in it" if run is None else f"it has no run {run}; recorded runs: {runs}"
        raise LedgerError(f"{ledger.name}: {problem}.")
    number, *row, written = rows[0]
    version, settings, learned, _ = row
    objects = ledger.decoded(learned, lambda recorded: [require_object(value) for value in recorded])
    found = RecordedRun(number, version, ledger.decoded(settings, recorded_settings), objects)
    if replayed and checksum(row) != written:
        raise ledger.damaged()
    return found


def require_object(recorded: Any) -> dict[str, Any]:
    """Return ``recorded`` if it is a JSON object. Raises TypeError for anything else that the ledger holds."""
    if not isinstance(recorded, dict):
        raise TypeError
    return recorded


_MOST_GROUPS = 2000
"""How many of the latest groups are read; more would delay the start of a run."""

_KINDS: tuple[type[Rating | Comparison | Verdict], ...] = (Rating, Comparison, Verdict)


def recorded_judgments(ledger: ReadableLedger, settings: Settings) -> Iterator[Mapping[int, Sequence[Judgment]]]:
    """Yield the ledger's recorded judgments of the judges in ``settings``: a mapping by slot for each group, the latest
    group first.

    Only runs with the same protocol count. A group that was judged several times with the same requests counts once.
    """
    slots = {(judge.endpoint, judge.model): slot for slot, judge in enumerate(settings.judges)}
    seen: set[frozenset[str]] = set()
    for run, recorded in _runs(ledger):
        slots_in_record = [slots.get((judge["endpoint"], judge["model"])) for judge in recorded["judges"]]
        alike = (recorded.get("protocol"), recorded.get("expected")) == (settings.protocol, settings.question.expected)
        if not alike or all(slot is None for slot in slots_in_record):
            continue
        for keys, judgments in _groups(ledger, run):
            if keys in seen:
                continue
            seen.add(keys)
            by_slot: dict[int, list[Judgment]] = {}
            for judgment in judgments:
                if not isinstance(judgment, Verdict) and (slot := slots_in_record[judgment.slot]) is not None:
                    by_slot.setdefault(slot, []).append(replace(judgment, slot=slot))
            if by_slot:
                yield by_slot
            if len(seen) >= _MOST_GROUPS:
                return


def settings_of_equal_run(ledger: ReadableLedger, settings: Settings) -> Settings | None:
    """Return the settings of the ledger's latest run that asked what ``settings`` ask, or None if there is none.

    What was learned before a run is not compared.
    """
    chosen = _chosen_by_user(json.loads(json.dumps(settings.to_dict())))
    return next((Settings.of(run) for _, run in _runs(ledger, logging.WARNING) if _chosen_by_user(run) == chosen), None)


def is_repeat(ledger: ReadableLedger, settings: Mapping[str, Any], first: Mapping[str, Any]) -> bool:
    """Return whether ``settings`` ask what one of the ledger's runs with this ``first`` result asked.

    If rules decided as well, the ledger does not have the result that was written, and the latest run counts.
    """
    query = "SELECT settings FROM runs JOIN groups ON run = id AND position = 0 WHERE result = ?"
    latest = "SELECT settings FROM runs ORDER BY id DESC LIMIT 1"
    runs = ledger.rows(query, (to_json_text(first),)) or ledger.rows(latest)
    chosen = _chosen_by_user(json.loads(json.dumps(settings)))
    begins = {} if chosen["begins_with"] else {"begins_with": None}  # with any group
    return any(_chosen_by_user(ledger.decoded(run, recorded_settings)) | begins == chosen for (run,) in runs)


def _chosen_by_user(settings: Mapping[str, Any]) -> dict[str, Any]:
    judges = [(judge["judge"], judge["endpoint"], judge["model"]) for judge in settings["judges"]]
    return {**settings, "judges": judges, "experience": None, "windows": [], "deadline": None}


_RUNS: Final = f"SELECT {', '.join(RUNS.columns)}, checksum FROM runs"  # noqa: S608 - our columns


def _runs(ledger: ReadableLedger, level: int = logging.DEBUG) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the runs of the ledger, the latest first. One that is not as it was written is logged, and left out."""
    for number, *row, written in ledger.rows(f"{_RUNS} ORDER BY id DESC"):
        try:
            if checksum(row) != written:
                raise ledger.damaged()
            recorded = ledger.decoded(row[1], recorded_settings)
        except LedgerError as error:
            _log.log(level, "run %d teaches this run nothing: %s", number, error)
        else:
            yield number, recorded


def _groups(ledger: ReadableLedger, run: int) -> Iterator[tuple[frozenset[str], list[Judgment]]]:
    query = "SELECT position, key, detail FROM asks WHERE run = ? ORDER BY position DESC, number LIMIT ?"
    keys: set[str] = set()
    judgments: list[Judgment] = []
    last = None
    for position, key, detail in ledger.rows(query, (run, 16 * _MOST_GROUPS)):
        if position != last and keys:
            yield frozenset(keys), judgments
            keys, judgments = set(), []
        last = position
        keys.add(key)
        judgments += ledger.decoded(detail, _judgments)
    if keys:
        yield frozenset(keys), judgments


def _judgments(detail: Mapping[str, Any]) -> list[Judgment]:
    return [judgment for recorded in detail.get("judgments", ()) if (judgment := _judgment(recorded)) is not None]


def _judgment(recorded: Mapping[str, Any]) -> Judgment | None:
    """Return a judgment from its recorded fields, or None if this version of calipers does not know its kind."""
    kind = next((form for form in _KINDS if {field.name for field in fields(form)} == recorded.keys()), None)
    if kind is None:
        return None
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in recorded.items()
    }
    return kind(**values)
