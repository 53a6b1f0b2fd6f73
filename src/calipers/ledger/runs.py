"""What the judge talks to: a store that records a run, one that replays a recorded run, one that remembers nothing."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any

from calipers.backends.limits.meter import Meter
from calipers.backends.transport.kept import complete_kept
from calipers.config.settings import as_recorded_now
from calipers.errors import BackendError, LedgerError, PermanentError
from calipers.interfaces import Backend
from calipers.ledger.failed import Asking, FailedLog, find_failed, keep_failed
from calipers.ledger.flight import SingleFlight
from calipers.ledger.sqlite import Ledger, is_unpacked_again
from calipers.types import (
    NO_FAILED_CALLS,
    Canary,
    Completion,
    FailedCall,
    FailedCalls,
    Failure,
    GroupResult,
    JudgeRequest,
    Logprobs,
    Message,
    Reading,
    TrajectoryGroup,
    Usage,
)
from calipers.types.encoding import EncodedDict, encodable, finite_number, json_text

_ANSWER = """SELECT text, finish_reason, reasoning, served_model, input_tokens, output_tokens, cached_tokens, cost_usd,
latency, attempts, odds.value FROM answers LEFT JOIN odds USING (key) WHERE key = ?"""

_JSON = json.JSONEncoder(separators=(",", ":"), check_circular=False)
"""For what is hashed. Escapes to ASCII, which holds lone surrogates, too; nothing that is kept can hold itself."""
_NONE = NO_FAILED_CALLS.to_dict()
_LONG = 2**14
"""Characters from which on a text is kept compressed."""


def ledger_key(request: JudgeRequest, backend: Backend) -> str:
    """The name of a question: endpoint, model, messages, schema, limits, parameters and sample index (hex)."""
    texts: list[bytes] = []
    question = _question(request, backend, [_apart(message, texts) for message in request.messages])
    digest = blake2b(question.encode(), digest_size=20)
    # Whose text is how long stands in what was hashed before: no other texts, put together, are the same question.
    for text in texts:
        digest.update(text)
    return digest.hexdigest()


def group_digest(group: TrajectoryGroup) -> str:
    """The name of a group's whole content (hex)."""
    return blake2b(_JSON.encode(group.to_dict()).encode(), digest_size=16).hexdigest()


def _question(request: JudgeRequest, backend: Backend, messages: Iterable[str]) -> str:
    """One JSON list of all that makes a question; ``messages`` are JSON already."""
    schema = request.schema.text if isinstance(request.schema, EncodedDict) else _JSON.encode(request.schema)
    params = _JSON.encode(dict(request.params)) if request.params else "{}"
    limit = "null" if request.max_tokens is None else request.max_tokens
    before = _address(backend.endpoint, backend.model)
    return f"{before},[{','.join(messages)}],{schema},{limit},{params},{request.ask.sample}]"


@lru_cache(maxsize=64)
def _address(endpoint: str, model: str) -> str:
    """How the list begins."""
    return _JSON.encode([endpoint, model])[:-1]


def _apart(message: Message, texts: list[bytes]) -> str:
    """``message`` with the length of its text in the text's place, which is hashed as it is: quoting it takes longer.

    A list, so that it cannot be taken for a message.
    """
    content = message.get("content")
    if not isinstance(content, str):
        return _JSON.encode(message)
    text = content.encode("utf-8", "surrogatepass")
    texts.append(text)
    if len(message) == 2 and next(iter(message)) == "role" and isinstance(message["role"], str):
        return f"{_said_by(message['role'])}{len(text)}}}]"
    return _JSON.encode([{**message, "content": len(text)}])


@lru_cache(maxsize=64)
def _said_by(role: str) -> str:
    """How the list of a message with a role and a text begins, up to the length."""
    return _JSON.encode([{"role": role, "content": 0}]).removesuffix("0}]")


def _written(request: JudgeRequest, backend: Backend, completion: Completion) -> str | bytes:
    """The question as it was sent or, where nothing was, what its key is drawn from."""
    if completion.sent is None:
        return _packed(_question(request, backend, map(_JSON.encode, request.messages)))
    return _packed(completion.sent.decode())


def _packed(text: str) -> str | bytes:
    """Long texts compressed, short ones as they are: compressing those would take longer than all else about them.

    As they are, too, those that would look like a bomb to ``Ledger.decoded``: millions of times the same word.
    """
    if len(text) < _LONG:
        return text
    data = text.encode()
    packed = zlib.compress(data, 1)
    return packed if is_unpacked_again(len(data), len(packed)) else text


class Unrecorded:
    """No ledger: nothing is remembered, but two askers of one question still share one call."""

    def __init__(self) -> None:
        self._flight: SingleFlight[Completion] = SingleFlight()
        self._position = 0

    def begin(self) -> int:
        """The next group's number."""
        self._position += 1
        return self._position - 1

    async def answer(self, position: int, request: JudgeRequest, backend: Backend) -> Completion:  # noqa: ARG002
        """Ask."""
        key = ledger_key(request, backend)
        return await self._flight.run(key, partial(self._ask, key, request, backend))

    async def _ask(self, key: str, request: JudgeRequest, backend: Backend) -> Completion:
        meter, also_told = Meter(), request.on_failed_call

        def failed(call: FailedCall) -> None:
            meter.add(call)
            if also_told is not None:
                also_told(call)

        try:
            completion = await backend.complete(replace(request, on_failed_call=failed))
        except BackendError as error:
            _belongs(error, key, meter.total)
            raise
        return replace(completion, failed=meter.total, question=key)

    def note(self, position: int, request: JudgeRequest, result: Reading | Failure) -> None:
        """Forget."""

    async def finish(self, position: int, group: TrajectoryGroup, result: GroupResult) -> None:
        """Forget."""


class Recorder:
    """A run being recorded. Answers recorded by any earlier run serve this one.

    What earlier runs learned about each judge of ``settings``, as it stood when this run began, is kept with the run.
    """

    def __init__(self, ledger: Ledger, settings: Mapping[str, Any], *, version: str) -> None:
        self._ledger = ledger
        self._flight: SingleFlight[Completion] = SingleFlight()
        self._position = 0
        self._keys: dict[tuple[int, int], str] = {}
        learned = [find_learned(ledger, one["endpoint"], one["model"]) for one in settings["judges"]]
        self.reused = 0
        """How many answers came from the ledger."""
        self.run = run = ledger.insert(
            "INSERT INTO runs (version, settings, learned, started_at) VALUES (?, ?, ?, ?)",
            (version, json.dumps(settings), json.dumps(learned), _now()),
        )
        self._failed = FailedLog(ledger, run)

    def begin(self) -> int:
        """The next group's position: groups are numbered in the order they come in."""
        self._position += 1
        return self._position - 1

    async def answer(self, position: int, request: JudgeRequest, backend: Backend) -> Completion:
        """The recorded answer, or a new one, committed before it is handed on."""
        key = ledger_key(request, backend)
        self._keys[position, request.ask.number] = key
        recorded = find_answer(self._ledger, key) if self._ledger.may_hold(key) else None
        if recorded is not None:
            self.reused += 1
            return recorded
        ask = self._ask_after_another if self._flight.is_flying(key) else self._ask
        return await self._flight.run(key, partial(ask, position, key, request, backend))

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Keep ``settings`` as those of this run from now on; written with the next commit."""
        row = (json.dumps(settings), self.run)
        self._ledger.put("UPDATE runs SET settings = ? WHERE id = ?", row)

    def learn(self, judge: Backend, learned: Mapping[str, Any]) -> None:
        """Keep for later runs what was learned about a judge; written with the next commit."""
        row = (judge.endpoint, judge.model, json.dumps(learned))
        self._ledger.put("INSERT OR REPLACE INTO learned VALUES (?, ?, ?)", row)

    async def _ask(self, position: int, key: str, request: JudgeRequest, backend: Backend) -> Completion:
        asking = self._failed.of(position, request, key)
        request = replace(request, on_failed_call=asking.add)
        try:
            return await complete_kept(backend, request, partial(self._keep, key, request, backend, asking))
        except BackendError as error:
            _belongs(error, key, asking.total)
            raise

    async def _ask_after_another(self, position: int, key: str, request: JudgeRequest, backend: Backend) -> Completion:
        """Ask, unless who asked before was given up when the answer was safe already: a second one would not be kept."""
        return find_answer(self._ledger, key) or await self._ask(position, key, request, backend)

    async def _keep(
        self, key: str, request: JudgeRequest, backend: Backend, asking: Asking, completion: Completion
    ) -> Completion:
        """Commit an answer; what is on record then."""
        failed = asking.total
        completion = replace(
            completion, failed=failed, question=key, attempts=max(completion.attempts, 1 + failed.count)
        )
        text, reasoning = encodable(completion.text), encodable(completion.reasoning)
        if (text, reasoning) != (completion.text, completion.reasoning):  # a user's Backend may bring anything
            completion = replace(completion, text=text, reasoning=reasoning)
        usage = completion.usage
        row = (
            key,
            backend.endpoint,
            backend.model,
            _written(request, backend, completion),
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
        self._ledger.holds(key)
        self._ledger.put(f"INSERT OR IGNORE INTO answers VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - only ?
        if completion.logprobs is not None:
            self._ledger.put("INSERT OR IGNORE INTO odds VALUES (?, ?)", (key, _JSON.encode(completion.logprobs)))
        keep_failed(self._ledger, key, failed)
        await self._ledger.commit()
        if self._ledger.shared:
            # Another process may have been answered first; what is on record is what this run uses, so that it replays.
            return find_answer(self._ledger, key) or completion
        return completion

    def note(self, position: int, request: JudgeRequest, result: Reading | Failure) -> None:
        """Record how an ask ended; written with the next commit."""
        number = request.ask.number
        key = self._keys.pop((position, number), "")
        outcome = result.kind if isinstance(result, Failure) else result.outcome
        self._ledger.put(
            "INSERT OR REPLACE INTO asks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (self.run, position, number, key, request.ask.cause, outcome, result.reason, _detail(result)),
        )

    async def finish(self, position: int, group: TrajectoryGroup, result: GroupResult) -> None:
        """Record the group and its result; on disk when this returns."""
        self._ledger.put(
            "INSERT OR REPLACE INTO groups VALUES (?, ?, ?, ?, ?)",
            (
                self.run,
                position,
                group.group_id,
                _packed(json_text(group.to_dict())),
                json_text(result.to_dict()),
            ),
        )
        await self._ledger.commit()


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run as the ledger has it."""

    id: int
    version: str
    settings: Mapping[str, Any]
    learned: Sequence[Mapping[str, Any]]


class Replayer:
    """Serves a recorded run's answers and failures to the same questions, and asks nobody."""

    def __init__(self, ledger: Ledger, run: int | None = None) -> None:
        self._ledger = ledger
        self.recorded = find_run(ledger, run)
        self._position = -1

    def groups(self) -> Iterator[Mapping[str, Any]]:
        """The run's groups in input order, in the groups file's form; ``begin`` follows it."""
        query = "SELECT position, source FROM groups WHERE run = ? AND position > ? ORDER BY position LIMIT 1"
        while found := self._ledger.rows(query, (self.recorded.id, self._position)):
            if not isinstance(found[0][0], int):
                raise self._ledger.damaged()
            self._position = found[0][0]
            yield self._ledger.decoded(found[0][1], _object)

    def begin(self) -> int:
        """The recorded position of the group ``groups`` gave last."""
        return self._position

    async def answer(self, position: int, request: JudgeRequest, backend: Backend) -> Completion:
        """What this ask of this group got then: its answer, or its failure raised again."""
        key = ledger_key(request, backend)
        found = self._ledger.rows(
            "SELECT key, detail FROM asks WHERE run = ? AND position = ? AND number = ?",
            (self.recorded.id, position, request.ask.number),
        )
        if found and found[0][0] not in {key, ""}:  # without a key: its group's deadline passed before it was put
            raise PermanentError("not_recorded", "this version of calipers puts the question differently than recorded")
        if found and (error := self._ledger.decoded(found[0][1], _failure)) is not None:
            error.question = found[0][0]
            raise error
        completion = find_answer(self._ledger, key)
        if completion is None:
            raise PermanentError("not_recorded", "the ledger has no answer to this question")
        return completion

    def note(self, position: int, request: JudgeRequest, result: Reading | Failure) -> None:
        """Nothing new is recorded."""

    async def finish(self, position: int, group: TrajectoryGroup, result: GroupResult) -> None:
        """Nothing new is recorded."""


def _object(kept: Any) -> dict[str, Any]:
    if not isinstance(kept, dict):
        raise TypeError
    return kept


def _objects(kept: Any) -> list[dict[str, Any]]:
    return [_object(one) for one in kept]


def _failure(detail: Mapping[str, Any]) -> PermanentError | None:
    """The failure that an ask ended with; None where it was read."""
    if "kind" not in _object(detail):
        return None
    limit, prompt = detail.get("limit"), detail.get("prompt")
    error = PermanentError(detail["kind"], detail["reason"], fatal=detail["fatal"], limit=limit, prompt=prompt)
    error.failed = FailedCalls.from_dict(detail.get("failed_calls", _NONE))
    return error


def _belongs(error: BackendError, key: str, failed: FailedCalls) -> None:
    """Say in an error which question it is for, and all it took; a backend may raise the same object again."""
    error.failed, error.question, error.counted = failed, key, False


def _detail(result: Reading | Failure) -> str:
    if isinstance(result, Failure):
        told: dict[str, Any] = {} if result.limit is None else {"limit": result.limit, "prompt": result.prompt}
        if result.failed.count:
            told["failed_calls"] = result.failed.to_dict()
        return json.dumps({"kind": result.kind, "reason": result.reason, "fatal": result.fatal, **told})
    judgments = [{slot: getattr(judgment, slot) for slot in judgment.__slots__} for judgment in result.judgments]
    canary = {} if result.canary is None else {"canary": _canary(result.canary)}
    return json_text({"judgments": judgments, "missing": result.missing, **canary})


def _canary(canary: Canary) -> dict[str, Any]:
    return {"kind": canary.kind, "won": canary.won, **({"alone": True} if canary.alone else {})}


def find_answer(ledger: Ledger, key: str) -> Completion | None:
    """The recorded answer to the question of that key, if there is one."""
    found = ledger.rows(_ANSWER, (key,))
    if not found:
        return None
    text, finish_reason, reasoning, model, given, produced, cached, cost, latency, attempts, odds = found[0]
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
        logprobs=None if odds is None else ledger.decoded(odds, _odds),
        failed=find_failed(ledger, key, attempts),
        question=key,
    )


def _odds(recorded: Sequence[Any]) -> Logprobs:
    return tuple((at, tuple((token, chance) for token, chance in alternatives)) for at, alternatives in recorded)


def find_learned(ledger: Ledger, endpoint: str, model: str) -> Mapping[str, Any]:
    """What earlier runs learned about a judge, plain JSON; empty where nothing was."""
    known = ledger.rows("SELECT value FROM learned WHERE endpoint = ? AND model = ?", (endpoint, model))
    return ledger.decoded(known[0][0], _object) if known else {}


def has_answers(ledger: Ledger, backend: Backend) -> bool:
    """Whether this judge was ever answered for, in any run."""
    query = "SELECT 1 FROM answers WHERE endpoint = ? AND model = ? LIMIT 1"
    return bool(ledger.rows(query, (backend.endpoint, backend.model)))


def find_run(ledger: Ledger, run: int | None = None) -> RecordedRun:
    """A recorded run, the latest unless ``run`` names one. Raises LedgerError saying which there are."""
    query = "SELECT id, version, settings, learned FROM runs"
    found = (
        ledger.rows(f"{query} ORDER BY id DESC LIMIT 1")
        if run is None
        else ledger.rows(f"{query} WHERE id = ?", (run,))
    )
    if not found:
        runs = ", ".join(str(row[0]) for row in ledger.rows("SELECT id FROM runs ORDER BY id")) or "none"
        what = "no run is recorded in it" if run is None else f"it has no run {run} (recorded: {runs})"
        raise LedgerError(f"{ledger.path}: {what}.")
    number, version, settings, learned = found[0]
    return RecordedRun(number, version, ledger.decoded(settings, as_recorded_now), ledger.decoded(learned, _objects))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
