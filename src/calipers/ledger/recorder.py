"""Records a run in the ledger: every request, answer, reading and result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from itertools import count
from typing import Any, Final, Self

from calipers.backends.limits.failed_calls import Meter
from calipers.errors import BackendError, LedgerError
from calipers.interfaces import Backend, FullBackend, Store
from calipers.ledger.answers import ATTEMPT, RecordedRun, find_answer, find_learned, find_run, keys_without_verdict
from calipers.ledger.calls import SingleFlight, attach_key, compact_json, ledger_key, question_text
from calipers.ledger.database import (
    ANSWERS,
    ASKS,
    FAILED_BEFORE,
    FAILED_CALLS,
    GROUPS,
    LEARNED,
    ODDS,
    Row,
    WritableLedger,
    compress_pieces,
    compress_text,
)
from calipers.pacing import pace_of_loop
from calipers.types import (
    Canary,
    Completion,
    FailedCall,
    FailedCalls,
    Failure,
    GroupResult,
    JudgeRequest,
    Reading,
    TrajectoryGroup,
    Usage,
)
from calipers.types.encoding import to_json_text, without_lone_surrogates
from calipers.types.steps import Steps

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


def group_digest(group: TrajectoryGroup) -> str:
    """Return a digest of a group's whole content (hex), by which the ledger recognises it."""
    return blake2b(compact_json(group.to_dict()).encode(), digest_size=16).hexdigest()


class Run:
    """A run of ``ledger``: the number of its row, and the numbers of its groups.

    The constructor begins a run and records its settings, and what earlier runs learned about each judge of
    ``settings``. If ``shared``, other processes may ``join`` the run, and the ledger counts its groups.
    """

    joined: RecordedRun | None = None
    """The run as its first process recorded it, if this process joined it."""

    def __init__(
        self, ledger: WritableLedger, settings: Mapping[str, Any], *, version: str, shared: bool = False
    ) -> None:
        learned = [find_learned(ledger, one["endpoint"], one["model"]) for one in settings["judges"]]
        self.ledger = ledger
        self.shared = shared
        self.id = ledger.insert(
            "INSERT INTO runs (version, settings, learned, started_at) VALUES (?, ?, ?, ?)",
            (version, json.dumps(settings), json.dumps(learned), _now()),
        )
        self._numbers = count()
        if shared:
            ledger.share_run(self.id)

    @classmethod
    def join(cls, ledger: WritableLedger, run: int) -> Self:
        """Return a run that another process began with ``shared=True``, to record more of its groups.

        Raises LedgerError if ``ledger`` has no such run, or if that run is not shared.
        """
        found = cls.__new__(cls)
        found.ledger, found.shared, found.joined = ledger, True, find_run(ledger, run)
        found.id = found.joined.id
        if not ledger.rows("SELECT 1 FROM shared_runs WHERE run = ?", (run,)):
            raise LedgerError(f"{ledger.name}: run {run} is not shared between processes; begin it with shared=True")
        return found

    async def next_number(self) -> int:
        """Return the number of the next group of the ledger's run. Several stores may record groups of the same run."""
        return await self.ledger.take_number(self.id) if self.shared else next(self._numbers)


class Recorder(Store):
    """The store that records ``run`` in its ledger and reuses the answers that any earlier run recorded."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._ledger = run.ledger
        self._flight: SingleFlight[Completion] = SingleFlight()
        self._keys: dict[tuple[int, int], str] = {}
        self._failed = FailedLog(run.ledger, run.id)
        self._without_verdict = keys_without_verdict(run.ledger, run.id)

    async def begin(self) -> int:
        """Return the number of the next group of the run that the ledger records."""
        return await self.run.next_number()

    async def answer(self, number: int, request: JudgeRequest, backend: FullBackend) -> Completion:
        """Return the ledger's answer, or a new answer that is committed to the ledger before it is returned."""
        await self._ledger.require_writable()
        key = self._attempt(ledger_key(request, backend))
        self._keys[number, request.ask.number] = key
        if self._ledger.claims:
            return await self._flight.run(key, partial(self._ask_claimed, number, key, request, backend))
        if self._ledger.may_hold(key) and (recorded := await find_answer(self._ledger, key)) is not None:
            self.reused += 1
            return recorded
        ask = self._ask_after_another if self._flight.is_in_flight(key) else self._ask
        return await self._flight.run(key, partial(ask, number, key, request, backend))

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

    async def _ask(
        self, number: int, key: str, request: JudgeRequest, backend: FullBackend, *, owner_died: bool = False
    ) -> Completion:
        asking = await self._failed.log_for_request(number, request, key, owner_died=owner_died)
        request = replace(request, on_failed_call=asking.add)
        try:
            return await backend.complete_recorded(request, partial(self._record, key, request, backend, asking))
        except BackendError as error:
            attach_key(error, key, asking.total)
            raise

    async def _ask_after_another(
        self, number: int, key: str, request: JudgeRequest, backend: FullBackend
    ) -> Completion:
        """Return the recorded answer if there is one now, else send the request.

        The caller before may have been cancelled after its answer was recorded.
        """
        return await find_answer(self._ledger, key) or await self._ask(number, key, request, backend)

    async def _ask_claimed(self, number: int, key: str, request: JudgeRequest, backend: FullBackend) -> Completion:
        """Send the request, unless the ledger has its answer or gets it from another process that is asking now."""
        claim = await self._ledger.claim(key)
        if claim == "answered" and (recorded := await find_answer(self._ledger, key)) is not None:
            self.reused += 1
            return recorded
        try:
            answered = await self._ask(number, key, request, backend, owner_died=claim == "taken over")
        except BaseException:
            self._ledger.release(key)
            self._ledger.commit_soon()  # others may be waiting for it
            raise
        self._ledger.release(key)
        return answered

    async def _record(
        self, key: str, request: JudgeRequest, backend: Backend, asking: RequestFailures, completion: Completion
    ) -> Completion:
        """Commit a judge's answer to the ledger and return the recorded answer."""
        failed = asking.total
        attempts = max(completion.attempts, 1 + failed.count)
        completion = replace(completion, failed=failed, question=key, attempts=attempts)
        text, reasoning = without_lone_surrogates(completion.text), without_lone_surrogates(completion.reasoning)
        if (text, reasoning) != (completion.text, completion.reasoning):  # a user's Backend may return any text
            completion = replace(completion, text=text, reasoning=reasoning)
        self._ledger.put(ANSWERS.insert_new, _answer_row(key, request, backend, completion))
        self._ledger.add_key(key)
        if completion.logprobs is not None:
            self._ledger.put(ODDS.insert_new, (key, compact_json(completion.logprobs)))
        record_failed_calls(self._ledger, key, failed)
        await self._ledger.commit()
        if self._ledger.shared:
            # Another process may have recorded an answer first. The run then uses the recorded answer, so that it can
            # be replayed.
            return await find_answer(self._ledger, key) or completion
        return completion

    async def note(self, number: int, request: JudgeRequest, result: Reading | Failure) -> None:
        """Record in the ledger how a request to a judge ended. This is written with the next commit."""
        key = self._keys.pop((number, request.ask.number), "")
        outcome = result.kind if isinstance(result, Failure) else result.outcome
        self._ledger.put(
            ASKS.insert_or_replace,
            (
                self.run.id,
                number,
                request.ask.number,
                key,
                request.ask.cause,
                outcome,
                result.reason,
                _outcome_json(result),
            ),
        )

    async def finish(self, number: int, group: TrajectoryGroup, result: GroupResult) -> None:
        """Record the group and its result in the ledger; both are on disk when this returns."""
        source = await pace_of_loop().run(_group_text(group))
        row = (self.run.id, number, group.group_id, source, to_json_text(result.to_dict()))
        self._ledger.put(GROUPS.insert_or_replace, row)
        await self._ledger.commit()

    def change_settings(self, settings: Mapping[str, Any]) -> None:
        """Record ``settings`` as the run's settings from now on; the ledger's next commit writes them."""
        self._ledger.put("UPDATE runs SET settings = ? WHERE id = ?", (json.dumps(settings), self.run.id))

    def learn(self, judge: Backend, learned: Mapping[str, Any]) -> None:
        """Record in the ledger, for later runs, what was learned about a judge; it is written with the next commit."""
        row = (judge.endpoint, judge.model, json.dumps(learned))
        self._ledger.put(LEARNED.insert_or_replace, row)


_NO_TRAJECTORIES = '"trajectories":[]}'
"""The end of a group without trajectories as JSON."""


def _answer_row(key: str, request: JudgeRequest, backend: Backend, completion: Completion) -> tuple[Any, ...]:
    usage = completion.usage
    return (
        key,
        backend.endpoint,
        backend.model,
        _request_text(request, backend, completion),
        completion.text,
        completion.finish_reason,
        completion.reasoning,
        completion.model,
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.cost_usd,
        completion.latency,
        completion.attempts,
        _now(),
    )


def _request_text(request: JudgeRequest, backend: Backend, completion: Completion) -> str | bytes:
    """Return the request as it was sent. If nothing was sent, return the text from which its ledger key is computed."""
    if completion.sent is None:
        return compress_text(question_text(request, backend, map(compact_json, request.messages)))
    return compress_text(completion.sent.decode())


def _group_text(group: TrajectoryGroup) -> Steps[str | bytes]:
    """Return a group as JSON text, compressed for the ledger if it is long, in steps."""
    head = to_json_text(replace(group, trajectories=()).to_dict())
    if not head.endswith(_NO_TRAJECTORIES):  # the group was made by hand, with an ``extra`` of this name
        return compress_text(to_json_text(group.to_dict()))
    pieces = [head.removesuffix("]}")]
    for number, one in enumerate(group.trajectories):
        pieces.append(("," if number else "") + to_json_text(one.to_dict()))
        yield
    return (yield from compress_pieces([*pieces, "]}"]))


def _outcome_json(result: Reading | Failure) -> str:
    """Return the end of a request as JSON: a failure, or the judgments that were read."""
    if isinstance(result, Failure):
        more: dict[str, Any] = {} if result.limit is None else {"limit": result.limit, "prompt": result.prompt}
        if result.failed.count:
            more["failed_calls"] = result.failed.to_dict()
        return json.dumps({"kind": result.kind, "reason": result.reason, "fatal": result.fatal, **more})
    judgments = [{slot: getattr(judgment, slot) for slot in judgment.__slots__} for judgment in result.judgments]
    canary = {} if result.canary is None else {"canary": _canary(result.canary)}
    return to_json_text({"judgments": judgments, "missing": result.missing, **canary})


def _canary(canary: Canary) -> dict[str, Any]:
    return {"kind": canary.kind, "won": canary.won, **({"alone": True} if canary.alone else {})}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
