"""Exchange data between the processes of a distributed run, so that a group split over them is judged whole, and once.

PyTorch is used if a run has already loaded it, and never imported.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from calipers.errors import CalipersError, ConfigError

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

    async def exchange_rows(self, read: Callable[[], Sequence[T]]) -> tuple[list[T], range]:
        """Return the rows that all processes of TRL read, and the positions of this process's rows among them."""

        async def reading() -> Sequence[T]:
            return read()

        parts = await self.exchange(reading())
        start = sum(map(len, parts[: self.rank]))
        return [row for part in parts for row in part], range(start, start + len(parts[self.rank]))

    async def exchange(self, mine: Awaitable[T]) -> list[T]:
        """Return the results of ``mine`` in every process of a TRL training run, in the order of ranks.

        A CalipersError of one process is raised in all processes.
        """
        sent: tuple[type[CalipersError] | None, Any]
        error: CalipersError | None = None
        try:
            sent = None, await mine
        except CalipersError as raised:
            error, sent = raised, (_kind_of(raised), str(raised))
        received: list[Any] = [None] * self._count
        await asyncio.to_thread(self._gather, received, sent, group=self._group)
        if error is not None:
            raise error
        for rank, (kind, value) in enumerate(received):
            if kind is not None:
                raise kind(f"process {rank}: {value}")
        return [value for _, value in received]


def _kind_of(error: object) -> type[CalipersError]:
    """Return the class of the error that is raised in the other processes. It must take a text as its only argument."""
    return ConfigError if isinstance(error, ConfigError) else CalipersError


def is_single_process() -> bool:
    """Return whether the TRL training run has no other process, so that its batch is complete here."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return True
    return bool(distributed.get_world_size() == 1)
