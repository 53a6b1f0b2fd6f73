"""What the processes of a distributed run tell each other so that a group split over them is judged whole, and once.

Not responsible for what is told. PyTorch is used where a run has already loaded it, and never imported.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, TypeVar

from calipers.errors import CalipersError, ConfigError

T = TypeVar("T")


class Ranks:
    """The processes of this run, for one user of it: what it shares cannot be mistaken for another's.

    A process group of its own, over gloo, and not the trainer's: objects are shared from the event loop's thread, where a
    GPU backend would use the first GPU in every process, and two reward functions that wait for their judges get there
    in another order in each process. All processes must create it, and call ``share``, equally often.
    """

    def __init__(self) -> None:
        distributed: Any = sys.modules["torch.distributed"]
        self.number: int = distributed.get_rank()
        self._count: int = distributed.get_world_size()
        self._group = distributed.new_group(backend="gloo")
        self._gather = distributed.all_gather_object

    async def share(self, mine: T | CalipersError) -> list[T]:
        """What every process passed, in the order of their ranks. An error passed by one is raised in all."""
        failed = isinstance(mine, CalipersError)
        everyones: list[Any] = [None] * self._count
        told = (_kind_of(mine) if failed else None, str(mine) if failed else mine)
        await asyncio.to_thread(self._gather, everyones, told, group=self._group)
        if isinstance(mine, CalipersError):
            raise mine
        for number, (kind, theirs) in enumerate(everyones):
            if kind is not None:
                raise kind(f"process {number}: {theirs}")
        return [theirs for _, theirs in everyones]


def _kind_of(error: object) -> type[CalipersError]:
    """The class that is raised in other processes: theirs, where it takes no more than a text."""
    return ConfigError if isinstance(error, ConfigError) else CalipersError


def is_single_process() -> bool:
    """Whether this process is a run of its own."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return True
    return bool(distributed.get_world_size() == 1)
