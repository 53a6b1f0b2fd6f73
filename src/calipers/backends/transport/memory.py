"""How many bytes of replies a process takes in at the same time, however many arrive together.

A reply of a few kilobytes takes none of it. A large one takes what it has grown to; when all is taken, it is not read on
(its server's sending stops by itself) until others are done with theirs. Not responsible for how long a reply may get.
"""

from __future__ import annotations

from calipers.backends.limits.gate import Gate

FREE = 65_536
"""Bytes of a reply that nobody is asked for: nearly all replies are shorter."""
_STEP = 262_144


class Room:
    """``shared`` bytes for all that are received at a time; one more may go beyond it, so that there is always one that ends.

    Safe to use from several event loops and threads.
    """

    def __init__(self, shared: int) -> None:
        self._shared = shared
        self._taken = 0
        self._beyond = False
        self._gate: Gate[bool] = Gate()

    def claim(self) -> Claim:
        """The claim of a reply that begins."""
        return Claim(self)

    @property
    def taken(self) -> int:
        """Bytes that are claimed now, of the shared ones."""
        return self._taken

    async def grow(self, claim: Claim, size: int) -> None:
        """Wait until ``claim`` covers ``size`` bytes."""
        wanted = -(-size // _STEP) * _STEP
        await self._gate.enter(lambda: self._take(claim, wanted), undo=lambda _: None)

    def leave(self, claim: Claim) -> None:
        """Give back all that ``claim`` has."""
        self._gate.change(lambda: self._give_back(claim))

    def _take(self, claim: Claim, wanted: int) -> bool | None:
        if claim.left:
            return True  # it was given up while it waited
        if self._taken + wanted - claim.covered <= self._shared:
            self._taken += wanted - claim.covered
            claim.covered = wanted
            return True
        if self._beyond:
            return None
        self._beyond = claim.beyond = True
        return True

    def _give_back(self, claim: Claim) -> None:
        claim.left = True
        self._taken -= claim.covered
        claim.covered = 0
        if claim.beyond:
            self._beyond = claim.beyond = False


class Claim:
    """What one reply has of a ``Room``."""

    __slots__ = ("beyond", "covered", "left", "room")

    def __init__(self, room: Room) -> None:
        self.room = room
        self.covered = 0
        self.beyond = False
        self.left = False

    def covers(self, size: int) -> bool:
        """Whether a reply of ``size`` bytes may be read on."""
        return size <= FREE or size <= self.covered or self.beyond

    def leave(self) -> None:
        """Give back all there is."""
        if self.covered or self.beyond:
            self.room.leave(self)
