"""Limits the memory that large replies take while they are received, for all requests of a process together.

A reply of a few kilobytes does not count. A large reply takes as much as it has grown to. When the memory is used up,
further large replies are not read on, which makes their servers stop sending, until others have ended. Not responsible
for how long a reply may be.
"""

from __future__ import annotations

from calipers.backends.limits.admission import Admission

FREE = 65_536
"""The first bytes of a reply, which are not counted; nearly all replies are shorter."""
_STEP = 262_144


class ReplyMemory:
    """``shared`` bytes for all replies that are received at a time. Safe to use from several event loops and threads.

    One more reply may exceed it, so that at least one reply can always be read to its end.
    """

    def __init__(self, shared: int) -> None:
        self.shared = shared
        self.taken = 0
        """How many of the shared bytes are reserved now."""
        self.exceeded = False
        """Whether a reply is being read now that exceeds the shared bytes."""
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
        """Return whether a reply of ``size`` bytes may be read on without waiting."""
        return size <= FREE or size <= self._covered or self._exceeds

    async def grow(self, size: int) -> None:
        """Wait until the reservation covers a reply of ``size`` bytes."""
        wanted = -(-size // _STEP) * _STEP
        await self._memory.admission.enter(lambda: self._take(wanted), undo=lambda _: None)

    def release(self) -> None:
        """Release the whole reservation."""
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
