"""Records a run in the ledger: every request, answer, reading and result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from itertools import count
from typing import Any, Final

from calipers.backends.limits.budget import Meter
from calipers.errors import BackendError
from calipers.interfaces import Backend, FullBackend, Store
from calipers.ledger.answers import ATTEMPT, find_answer, find_learned, keys_without_verdict
from calipers.ledger.calls import SingleFlight, attach_key, compact_json, ledger_key, question_text
from calipers.ledger.database import (
    ANSWERS,
    ASKS,
    FAILED_CALLS,
    GROUPS,
    LEARNED,
    Row,
    WritableLedger,
    checksum,
    compress_text,
)
from calipers.pacing import pace_of_loop
from calipers.types import (
    Completion,
    FailedCall,
    Failure,
    GroupResult,
    JudgeRequest,
    Reading,
    TrajectoryGroup,
    Usage,
)
from calipers.types.encoding import to_json, to_json_text, without_lone_surrogates
from calipers.types.steps import Steps

_DELETE: Final = "DELETE FROM failed_calls WHERE run = ? AND position = ? AND number = ? AND call = ?"
_LEFT: Final = """SELECT run, position, number, call, kind, metered, input_tokens, output_tokens,
cached_tokens, cost_usd FROM failed_calls AS one LEFT JOIN asks USING (run, position, number) WHERE one.key = ? AND
one.kind <> 'broken_off' AND asks.outcome IS NULL AND NOT EXISTS (SELECT 1 FROM answers WHERE answers.key = one.key)
ORDER BY run, position, number, call"""
"""The failed calls of a request that never ended, because its run was killed; not those that the end broke off."""


class _FailedCalls(Meter):
    """Records the failed calls of one request. ``add`` is the request's ``on_failed_call``."""

    __slots__ = ("_ask", "_key", "_ledger")

    def __init__(
        self, ledger: WritableLedger, ask: tuple[int, int, int], key: str, then: Callable[[FailedCall], None] | None
    ) -> None:
        super().__init__(then)
        self._ledger = ledger
        self._ask = ask
        self._key = key

    def take_over(self, left: Iterable[Row]) -> None:
        """Take over the failed calls in the ledger of an equal request that never ended."""
        for run, position, number, call, kind, metered, *usage in left:
            self._ledger.put(_DELETE, (run, position, number, call))
            self.add(FailedCall(kind, Usage(*usage) if metered else None))

    def add(self, call: FailedCall) -> None:
        """Record a failed call in the ledger. It is on disk after the next turn of the event loop."""
        usage = call.usage or Usage()
        tokens = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost_usd)
        columns = (len(self.calls), self._key, call.kind, int(call.usage is not None))
        self._ledger.put(FAILED_CALLS.insert_or_replace, (*self._ask, *columns, *tokens, _now()))
        self._ledger.commit_soon()
        super().add(call)


def group_digest(group: TrajectoryGroup) -> str:
    """Return a digest of a group's whole content (hex), by which the ledger recognises it."""
    return blake2b(compact_json(group.to_dict()).encode(), digest_size=16).hexdigest()


class Run:
    """A run of ``ledger``: the number of its row, and the numbers of its groups.

    The constructor begins a run and records its settings, and what earlier runs learned about each judge of
    ``settings``. Several stores may record groups of the same run.
    """

    def __init__(self, ledger: WritableLedger, settings: Mapping[str, Any], *, version: str) -> None:
        learned = [find_learned(ledger, judge["endpoint"], judge["model"]) for judge in settings["judges"]]
        self.ledger = ledger
        self.columns = (version, json.dumps(settings), json.dumps(learned), _now())
        self.id = ledger.insert(
            "INSERT INTO runs (version, settings, learned, started_at, checksum) VALUES (?, ?, ?, ?, ?)",
            (*self.columns, checksum(self.columns)),
        )
        self.numbers = count()


class Recorder(Store):
    """The store that records ``run`` in its ledger and reuses the answers that any earlier run recorded."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._ledger = run.ledger
        self._flight: SingleFlight[Completion] = SingleFlight()
        self._keys: dict[tuple[int, int], str] = {}
        self._without_verdict = keys_without_verdict(run.ledger, run.id)

    async def begin(self) -> int:
        """Return the number of the next group of the run that the ledger records."""
        return next(self.run.numbers)

    async def answer(self, number: int, request: JudgeRequest, backend: FullBackend) -> Completion:
        """Return the ledger's answer, or a new answer that is committed to the ledger before it is returned."""
        await self._ledger.require_writable()
        key = self._attempt(ledger_key(request, backend))
        self._keys[number, request.ask.number] = key
        return await self._flight.run(key, partial(self._ask, number, key, request, backend))

    def _attempt(self, key: str) -> str:
        """Return the key under which the ledger has this run's answer to a request.

        A request whose answer left an earlier run's group without a reward is asked once more, under a key of its own,
        so that the earlier run can still be replayed.
        """
        attempt, number = key, 1
        while attempt in self._without_verdict:
            number += 1
            attempt = f"{key}{ATTEMPT}{number}"
        return attempt

    async def _ask(self, number: int, key: str, request: JudgeRequest, backend: FullBackend) -> Completion:
        """Send the request, unless its answer is recorded, or another process is asking for it now."""
        recorded, claimed = await find_answer(self._ledger, key), False
        try:
            if recorded is None and self._ledger.is_on_server:
                claimed = await self._ledger.claim(key)
                recorded = await find_answer(self._ledger, key)
            if recorded is not None:
                self.reused += 1
                return recorded
            failed = _FailedCalls(self._ledger, (self.run.id, number, request.ask.number), key, request.on_failed_call)
            failed.take_over(await self._ledger.look_up(_LEFT, (key,)))
            request = replace(request, on_failed_call=failed.add)
            try:
                return await backend.complete_recorded(request, partial(self._record, key, request, backend, failed))
            except BackendError as error:
                attach_key(error, key, failed.total)
                raise
        finally:
            if claimed:
                self._ledger.release(key)

    async def _record(
        self, key: str, request: JudgeRequest, backend: Backend, failing: Meter, completion: Completion
    ) -> Completion:
        """Commit a judge's answer to the ledger and return the recorded answer."""
        failed = failing.total
        attempts = max(completion.attempts, 1 + failed.count)
        completion = replace(completion, failed=failed, question=key, attempts=attempts)
        text, reasoning = without_lone_surrogates(completion.text), without_lone_surrogates(completion.reasoning)
        if (text, reasoning) != (completion.text, completion.reasoning):  # a user's Backend may return any text
            completion = replace(completion, text=text, reasoning=reasoning)
        self._ledger.put(ANSWERS.insert_new, _answer_row(key, request, backend, completion))
        await self._ledger.commit()
        if self._ledger.shared:
            # Another process may have recorded an answer first. The run then uses the recorded answer, so that it can
            # be replayed.
            return await find_answer(self._ledger, key) or completion
        return completion

    async def note(self, number: int, request: JudgeRequest, result: Reading | Failure) -> None:
        """Record in the ledger how a request to a judge ended. This is written with the next commit."""
        ask = request.ask
        key = self._keys.pop((number, ask.number), "")
        outcome = result.kind if isinstance(result, Failure) else result.outcome
        row = (self.run.id, number, ask.number, key, ask.cause, outcome, result.reason, _outcome_json(result))
        self._ledger.put(ASKS.insert_or_replace, row)

    async def finish(self, number: int, group: TrajectoryGroup, result: GroupResult) -> None:
        """Record the group and its result in the ledger; both are on disk when this returns."""
        source = await pace_of_loop().run(_group_text(group))
        row = (self.run.id, number, group.group_id, source, to_json_text(result.to_dict()))
        self._ledger.put(GROUPS.insert_or_replace, row)
        await self._ledger.commit()

    def change_settings(self, settings: Mapping[str, Any]) -> None:
        """Record ``settings`` as the run's settings from now on; the ledger's next commit writes them."""
        version, _, *others = self.run.columns
        text = json.dumps(settings)
        row = (text, checksum((version, text, *others)), self.run.id)
        self._ledger.put("UPDATE runs SET settings = ?, checksum = ? WHERE id = ?", row)

    def learn(self, judge: Backend, learned: Mapping[str, Any]) -> None:
        """Record in the ledger, for later runs, what was learned about a judge; it is written with the next commit."""
        row = (judge.endpoint, judge.model, json.dumps(learned))
        self._ledger.put(LEARNED.insert_or_replace, row)


def _answer_row(key: str, request: JudgeRequest, backend: Backend, completion: Completion) -> Row:
    usage, failed = completion.usage, completion.failed
    return (
        *(key, backend.endpoint, backend.model, _request_text(request, backend, completion)),
        *(completion.text, completion.finish_reason, completion.reasoning, completion.model),
        *(usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost_usd),
        *(completion.latency, completion.attempts, _now()),
        None if completion.logprobs is None else compact_json(completion.logprobs),
        to_json_text(failed.to_dict()) if failed is not None and failed.count else None,
    )


def _request_text(request: JudgeRequest, backend: Backend, completion: Completion) -> str | bytes:
    """Return the request as it was sent. If nothing was sent, return the text from which its ledger key is computed."""
    if completion.sent is None:
        return compress_text(question_text(request, backend, map(compact_json, request.messages)).encode())
    return compress_text(completion.sent)


def _group_text(group: TrajectoryGroup) -> Steps[str | bytes]:
    """Return a group as JSON text, compressed for the ledger if it is long, in steps."""
    rest, members = group.to_dict(), []
    for trajectory in rest.pop("trajectories"):
        members.append(to_json(trajectory, lone="backslashreplace"))
        yield
    whole = b",".join(members), to_json(rest, lone="backslashreplace")[1:]
    yield
    return compress_text(b'{"trajectories":[%b],%b' % whole)


def _outcome_json(result: Reading | Failure) -> str:
    """Return the end of a request as JSON: a failure, or the judgments that were read."""
    if isinstance(result, Failure):
        more: dict[str, Any] = {} if result.limit is None else {"limit": result.limit, "prompt": result.prompt}
        if result.failed.count:
            more["failed_calls"] = result.failed.to_dict()
        return json.dumps({"kind": result.kind, "reason": result.reason, "fatal": result.fatal, **more})
    outcome: dict[str, Any] = {
        "judgments": [{slot: getattr(judgment, slot) for slot in judgment.__slots__} for judgment in result.judgments],
        "missing": result.missing,
    }
    if (canary := result.canary) is not None:
        outcome["canary"] = {"kind": canary.kind, "won": canary.won} | ({"alone": True} if canary.alone else {})
    return to_json_text(outcome)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
