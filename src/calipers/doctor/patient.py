"""The judge under examination, and asking it as a run would: the same backend, protocol, reading and retries.

Not responsible for what is asked (``probes``) or what answers amount to (``opinions``, ``habits``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from calipers.backends.connect import find_backend
from calipers.backends.limits.metered import Meter, Metered
from calipers.backends.limits.prices import find_pricing
from calipers.backends.limits.retry import Retrying
from calipers.interfaces import Backend, FullBackend
from calipers.judging.judge import Judge
from calipers.ledger import Unrecorded
from calipers.types import Ask, Completion, Failure, JudgeRequest, Rating, Reading, TrajectoryGroup, Usage

_ATTEMPTS = 2
"""A second try for what may pass; more would spend the minute on a server that is down."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer: the group and order it is about, the reply, its reading, and the scores (0-1) by trajectory id."""

    group_id: str
    ask: Ask
    completion: Completion
    reading: Reading
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Answers:
    """What came of asking: ``asked`` questions, the answers that came, why others did not, what the server refused."""

    asked: int
    heard: tuple[Heard, ...]
    failures: tuple[Failure, ...] = ()
    refused: frozenset[str] = frozenset()

    def __add__(self, other: Answers) -> Answers:
        return Answers(
            self.asked + other.asked,
            self.heard + other.heard,
            self.failures + other.failures,
            self.refused | other.refused,
        )


@dataclass(slots=True)
class Spent:
    """What the examination has used so far: calls answered, and the usage of all that were made."""

    calls: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost_usd=0.0))

    def pay(self, *usage: Usage) -> None:
        self.usage = Usage.total([self.usage, *usage])


@dataclass(frozen=True, slots=True)
class Patient:
    """Whom to ask and with what: the settings a run would have. ``until`` is a ``time.monotonic`` to be done by."""

    judge: str
    until: float
    base_url: str | None = None
    api_key: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int | None = 8192
    timeout: float = 60.0
    price: Sequence[float] | None = None
    concurrency: int = 8
    spent: Spent = field(default_factory=Spent)

    def backend(self, *, without: Iterable[str] = ()) -> FullBackend:
        """A fresh backend that knows nothing of the endpoint but that it is not to be asked for ``without``."""
        found = find_backend(self.judge, base_url=self.base_url, api_key=self.api_key, timeout=self.timeout)
        found.learn({"refused": list(without)})
        return found

    @property
    def left(self) -> float:
        """Seconds left of the time given; a little at least, so that what was begun can say that it ended."""
        return max(0.05, round(self.until - time.monotonic(), 1))

    async def ask(
        self,
        groups: Iterable[TrajectoryGroup],
        *,
        orders: int = 1,
        samples: int = 1,
        params: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        without: Iterable[str] = (),
        expected: bool = False,
    ) -> Answers:
        """Put every group to the judge through the whole pipeline; no re-asks, so that first answers are counted."""
        every, heard, failures = tuple(groups), list[Heard](), _Failures()

        def observe(request: JudgeRequest, completion: Completion, reading: Reading) -> None:
            self.spent.calls += 1
            heard.append(Heard(request.view.group_id, request.ask, completion, reading, _scores(request, reading)))

        bare = self.backend(without=without)
        judge = Judge(
            self._retrying(bare),
            orders=orders,
            samples=samples,
            reasks=0,
            expected=expected,
            params={**self.params, **(params or {})},
            max_tokens=max_tokens or self.max_tokens,
            concurrency=self.concurrency,
            deadline=self.left,
            store=failures,
            observer=observe,
        )
        # All begin at once, so that one deadline holds for all; calls in flight are bounded by the judge.
        async for result in judge.score_groups(every, concurrency=len(every)):
            self.spent.pay(result.usage)
        refused = frozenset(bare.learned().get("refused", ()))
        return Answers(len(every) * orders * samples, tuple(heard), tuple(failures.noted), refused)

    def _retrying(self, bare: Backend) -> Retrying:
        pricing = find_pricing(bare.endpoint, bare.model, price=self.price)
        return Retrying(Metered(bare, pricing=pricing), attempts=_ATTEMPTS, deadline=self.left)

    async def complete(self, request: JudgeRequest, backend: Backend) -> Completion:
        """One question outside the pipeline. Raises BackendError, or TimeoutError when the time given is over."""
        meter = Meter()
        try:
            async with asyncio.timeout(self.left):
                completion = await self._retrying(backend).complete(replace(request, on_failed_call=meter.add))
        finally:
            self.spent.pay(meter.total.usage)
        self.spent.calls += 1
        self.spent.pay(completion.usage)
        return completion


def _scores(request: JudgeRequest, reading: Reading) -> dict[str, float]:
    """Scores by trajectory id; no two probes of a group are the same, so each candidate is one trajectory."""
    candidates, ids = request.view.candidates, request.view.ids
    return {ids[candidates[one.item].members[0]]: one.value for one in reading.judgments if isinstance(one, Rating)}


class _Failures(Unrecorded):
    """Keeps nothing but why calls brought no answer."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[Failure] = []

    async def note(self, number: int, request: JudgeRequest, result: Reading | Failure) -> None:
        await super().note(number, request, result)
        if isinstance(result, Failure):
            self.noted.append(result)
