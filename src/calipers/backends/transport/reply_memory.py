"""Limits the memory that large replies take while they are received, for all requests of a process together.

A reply of a few kilobytes does not count. A large reply counts with the size that it has reached. When the memory is
used up, further large replies are not read on until others have ended. This makes their servers stop sending. Not
responsible for how long a reply may be.
"""

from __future__ import annotations

from calipers.backends.limits.admission import Admission

FREE = 65_536
"""The first bytes of a reply, which are not counted; nearly all replies are shorter."""
_STEP = 262_144


class ReplyMemory:
    """Limits the memory of all replies that are received at the same time to ``shared`` bytes.

    A single reply may exceed the limit, so that at least one reply can always be read to its end. Safe to use from
    several event loops and threads.
    """

    def __init__(self, shared: int) -> None:
        self.shared = shared
        self.taken = 0
        """How many of the shared bytes are reserved now."""
        self.exceeded = False
        """True while a reply that exceeds the shared bytes is read."""
        self.admission: Admission[bool] = Admission()


class Reservation:
    """The part of a ``ReplyMemory`` that one reply has reserved."""

    __slots__ = ("_covered", "_exceeds", "_memory", "_released")

    def __init__(self, memory: ReplyMemory) -> None:
        self._memory = memory
        self._covered = 0
        self._exceeds = False
        self._released = False

    def covers(self, size: int) -> bool:
        """Return whether a server's reply of ``size`` bytes may be read on without waiting."""
        return size <= FREE or size <= self._covered or self._exceeds

    async def grow(self, size: int) -> None:
        """Wait until the reservation covers a server's reply of ``size`` bytes."""
        wanted = -(-size // _STEP) * _STEP
        await self._memory.admission.enter(lambda: self._take(wanted), undo=lambda _: None)

    def release(self) -> None:
        """Release the memory that the server's reply has reserved."""
        if self._covered or self._exceeds:
            self._memory.admission.change(self._give_back)

    def _take(self, wanted: int) -> bool | None:
        memory = self._memory
        if self._released:
            return True  # the reply was given up while it waited
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
