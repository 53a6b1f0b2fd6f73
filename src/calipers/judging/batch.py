"""A budget of presentations for a batch of groups: which groups are asked about again, decided for all together.

A group that could be asked about again waits until all others of its batch wait too or are done. Then the presentations
that are left are given to the groups that they are worth most to, one to each at a time, and the groups that got one
are judged on. Nothing depends on which answer came first. Not responsible for values (``aggregators.resolution``), or
for what is asked (``planners.resolving``).
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from calipers.judging.streaming import ResultStream, stream_results

S = TypeVar("S")
R = TypeVar("R")

SIZE = 64
"""How many groups of a stream are a batch: enough for the budget to go where it is worth most."""


@dataclass(slots=True, eq=False)
class Member:
    """One group's part in a batch: its presentations so far, and their further value while it waits."""

    batch: Batch
    place: int
    calls: int = 0
    values: Sequence[float] = ()
    waiting: asyncio.Future[bool] | None = None

    async def may_ask(self, calls: int, values: Sequence[float]) -> bool:
        """While judging, wait for the batch, and return whether this group gets one more presentation.

        It had ``calls``, and further ones are worth ``values``, which fall.
        """
        self.calls, self.values = calls, values
        self.waiting = asyncio.get_running_loop().create_future()
        self.batch.decide()
        return await self.waiting

    def __enter__(self) -> None:
        """Begin judging this group of the batch."""

    def __exit__(self, *_: object) -> None:
        """At the end of judging this group, take it out of the batch: nobody waits for it any more."""
        self.waiting = None
        self.batch.active.discard(self)
        self.batch.decide()


@dataclass(slots=True)
class Batch:
    """Groups that are judged together, with ``presentations`` for each on average."""

    presentations: float
    members: list[Member] = field(default_factory=list)
    active: set[Member] = field(default_factory=set)

    @classmethod
    def of(cls, groups: int, presentations: float) -> Batch:
        """Return the batch of judging so many groups together, which all are its members from the start."""
        batch = cls(presentations)
        batch.members = [Member(batch, place) for place in range(groups)]
        batch.active = set(batch.members)
        return batch

    def decide(self) -> None:
        """While judging, give presentations to groups, if every group of the batch waits or is done."""
        waiting = sorted((one for one in self.active if _waits(one)), key=lambda one: one.place)
        if not waiting or len(waiting) < len(self.active):
            return
        left = int(self.presentations * len(self.members) + 0.5) - sum(one.calls for one in self.members)
        chosen = worth_most([one.values for one in waiting], left)
        for number, member in enumerate(waiting):
            if chosen:
                if number in chosen:
                    _answer(member, given=True)
            else:
                _answer(member, given=False)


def _waits(member: Member) -> bool:
    return member.waiting is not None and not member.waiting.done()


def _answer(member: Member, *, given: bool) -> None:
    if member.waiting is not None:
        member.waiting.set_result(given)


def worth_most(values: Sequence[Sequence[float]], left: int) -> set[int]:
    """Return which groups of a batch have any of the ``left`` presentations that are worth most to it.

    ``values`` are those of each group's further presentations, which fall, so that the best ``left`` are found by
    taking the best next one again and again. Worthless ones are not taken.
    """
    best = [(-of_group[0], number) for number, of_group in enumerate(values) if of_group and of_group[0] > 0]
    heapq.heapify(best)
    taken = [0] * len(values)
    while best and left > 0:
        _, number = heapq.heappop(best)
        taken[number] += 1
        left -= 1
        of_group = values[number]
        if taken[number] < len(of_group) and of_group[taken[number]] > 0:
            heapq.heappush(best, (-of_group[taken[number]], number))
    return {number for number, count in enumerate(taken) if count}


def alone(presentations: float | None) -> Member | None:
    """Return a batch's only member, for judging a group by itself; None without a budget."""
    return None if presentations is None else Batch.of(1, presentations).members[0]


def stream_judged(
    groups: Iterable[S] | AsyncIterable[S],
    judge: Callable[..., Awaitable[R]],
    *,
    presentations: float | None,
    limit: int,
    ordered: bool,
) -> ResultStream[Any, R] | BatchStream[Any, R]:
    """Judge a stream of groups and yield the results as ``stream_results`` does, at most ``limit`` at a time.

    With ``presentations``, groups are judged in batches of SIZE that share this budget, and all of a batch are in
    progress together, because they wait for each other; ``judge`` then gets the group and its Member.
    """
    if presentations is None:
        return stream_results(groups, judge, limit=limit, ordered=ordered)
    return BatchStream(groups, judge, presentations, ordered=ordered)


class BatchStream(AsyncIterator[R], Generic[S, R]):
    """The results of judging groups in batches that share a budget; closed like ``ResultStream``, and a class as it."""

    def __init__(
        self,
        groups: Iterable[S] | AsyncIterable[S],
        judge: Callable[..., Awaitable[R]],
        presentations: float,
        *,
        ordered: bool,
    ) -> None:
        self._batches, self._judge = _in_batches(groups), judge
        self._presentations, self._ordered = presentations, ordered
        self._judged: ResultStream[Any, R] | None = None

    async def __anext__(self) -> R:
        """Return the next result. Raises what judging or the source raises."""
        while True:
            judged = self._judged = self._judged or self._begun(await anext(self._batches))
            try:
                return await anext(judged)
            except StopAsyncIteration:
                self._judged = None

    async def aclose(self) -> None:
        """Cancel what still runs, and wait until it has ended."""
        if self._judged is not None:
            await self._judged.aclose()

    def _begun(self, groups: Sequence[S]) -> ResultStream[Any, R]:
        members = zip(groups, Batch.of(len(groups), self._presentations).members, strict=True)
        return stream_results(members, lambda both: self._judge(*both), limit=len(groups), ordered=self._ordered)


async def _in_batches(groups: Iterable[S] | AsyncIterable[S]) -> AsyncIterator[list[S]]:
    """Yield the groups in batches of SIZE, in order; the last may be smaller."""
    found: list[S] = []
    async for group in _as_async(groups):
        found.append(group)
        if len(found) == SIZE:
            yield found
            found = []
    if found:
        yield found


async def _as_async(groups: Iterable[S] | AsyncIterable[S]) -> AsyncIterator[S]:
    if isinstance(groups, AsyncIterable):
        async for group in groups:
            yield group
        return
    for group in groups:
        yield group
