"""Exchange data between the processes of a distributed run, so that a group split over them is judged whole, and once.

PyTorch is used if a run has already loaded it, and never imported.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, TypeVar

from calipers.errors import CalipersError, ConfigError
from calipers.trainers.run import JudgedRun, Row, judged
from calipers.types import GroupResult

T = TypeVar("T")


class Ranks:
    """The processes of a training run, for one reward function. Its data cannot be confused with another function's.

    This is a separate process group over gloo, not the trainer's. Objects are exchanged from the event loop's thread,
    where a GPU backend would use the first GPU in every process. And two reward functions that wait for their judges
    arrive in a different order in each process. All processes must create it, and call its methods, equally often.
    """

    def __init__(self) -> None:
        distributed: Any = sys.modules["torch.distributed"]
        self.rank: int = distributed.get_rank()
        self._count: int = distributed.get_world_size()
        self._group = distributed.new_group(backend="gloo")
        self._gather = distributed.all_gather_object

    async def exchange(self, mine: Awaitable[T]) -> list[T]:
        """Return the results of ``mine`` in every process of a TRL training run, in the order of ranks.

        A CalipersError of one process is raised in all processes.
        """
        sent: tuple[type[CalipersError] | None, Any]
        error: CalipersError | None = None
        try:
            sent = None, await mine
        except CalipersError as raised:
            # An error is raised elsewhere by a class that takes a text as its only argument.
            kind = ConfigError if isinstance(raised, ConfigError) else CalipersError
            error, sent = raised, (kind, str(raised))
        received: list[Any] = [None] * self._count
        await asyncio.to_thread(self._gather, received, sent, group=self._group)
        if error is not None:
            raise error
        for rank, (raised_there, value) in enumerate(received):
            if raised_there is not None:
                raise raised_there(f"process {rank}: {value}")
        return [value for _, value in received]

    async def judged(
        self,
        run: JudgedRun,
        read: Callable[[], Sequence[Row]],
        group: Callable[[Sequence[Row]], Sequence[Row]],
        form: Callable[[GroupResult], Sequence[T]],
    ) -> tuple[list[T], slice]:
        """Judge the rows that all processes ``read``, once ``group`` has given them their keys.

        Return the entries of all rows, as ``run.judged`` does, and which of them are this process's. A group is judged
        by the process that has its first row.
        """

        async def reading() -> Sequence[Row]:
            return read()

        parts = await self.exchange(reading())
        start = sum(map(len, parts[: self.rank]))
        part = range(start, start + len(parts[self.rank]))
        rows = group([row for rows_there in parts for row in rows_there])
        first: dict[Hashable, int] = {}
        mine = [at for at, row in enumerate(rows) if first.setdefault(row.key, at) in part]

        async def judging() -> list[tuple[int, T]]:
            return list(zip(mine, await judged(run, [rows[at] for at in mine], form), strict=True))

        entries = dict(pair for pairs in await self.exchange(judging()) for pair in pairs)
        return [entries[at] for at in range(len(rows))], slice(part.start, part.stop)


def is_single_process() -> bool:
    """Return whether the TRL training run has no other process, so that its batch is complete here."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return True
    return bool(distributed.get_world_size() == 1)
