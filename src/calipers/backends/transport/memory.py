"""How many bytes of large replies a process receives at the same time, however many arrive together.

A reply of a few kilobytes takes none of it. A large one takes what it has grown to; when all is taken, it is not read
on (its server's sending stops by itself) until others are done with theirs. Not responsible for how long a reply may
get.
"""

from __future__ import annotations

from calipers.backends.limits.admission import Admission

FREE = 65_536
"""Bytes of a reply that are not counted: nearly all replies are shorter."""
_STEP = 262_144


class ReplyMemory:
    """``shared`` bytes for all that are received at a time; one more may exceed it, so that there is always one that
    ends.

    Safe to use from several event loops and threads.
    """

    def __init__(self, shared: int) -> None:
        self.shared = shared
        self.taken = 0
        """Bytes of the shared ones that are reserved now."""
        self.exceeded = False
        """Whether one reply exceeds it now."""
        self.admission: Admission[bool] = Admission()


class Reservation:
    """What one reply has of a ``ReplyMemory``."""

    __slots__ = ("_covered", "_exceeds", "_memory", "_released")

    def __init__(self, memory: ReplyMemory) -> None:
        self._memory = memory
        self._covered = 0
        self._exceeds = False
        self._released = False

    def covers(self, size: int) -> bool:
        """Whether a reply of ``size`` bytes may be read on."""
        return size <= FREE or size <= self._covered or self._exceeds

    async def grow(self, size: int) -> None:
        """Wait until it covers ``size`` bytes."""
        wanted = -(-size // _STEP) * _STEP
        await self._memory.admission.enter(lambda: self._take(wanted), undo=lambda _: None)

    def release(self) -> None:
        """Give back all there is."""
        if self._covered or self._exceeds:
            self._memory.admission.change(self._give_back)

    def _take(self, wanted: int) -> bool | None:
        memory = self._memory
        if self._released:
            return True  # it was given up while it waited
        if memory.taken + wanted - self._covered <= memory.shared:
            memory.taken += wanted - self._covered
            self._covered = wanted
            return True
        if memory.exceeded:
            return None
        memory.exceeded = self._exceeds = True
        return True

    def _give_back(self) -> None:
        self._released = True
        self._memory.taken -= self._covered
        self._covered = 0
        if self._exceeds:
            self._memory.exceeded = self._exceeds = False
