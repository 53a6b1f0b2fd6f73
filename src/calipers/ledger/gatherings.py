"""The interface of what servers share in a ledger while rollouts of a group arrive at several of them.

A group is *gathered* until it is whole or its deadline has passed; then one worker *closes* it, judges it, and ends its
gathering. Not responsible for judging, or for the group's result, which the ledger records as any other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Refused: TypeAlias = Literal["absent", "size", "shared", "messages"]
"""Why a rollout was not gathered: its group may not begin, or something else arrived before under the same name."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A rollout for the group ``name`` of the ledger, at ``place`` in it. ``body`` None: it is reported lost.

    ``shared`` is what the group's rollouts share; a new group does not begin without it. ``seen_shared`` and ``seen``
    are digests of that and of the rollout as sent. ``wait`` is in seconds from the group's first rollout to its
    deadline; with fewer than ``needed`` rollouts it is not judged. If ``replaces``, the ledger may have another group
    of this name, which no server gathered.
    """

    name: str
    size: int
    seen_shared: bytes
    shared: bytes | None
    place: int
    seen: bytes
    body: bytes | None
    wait: float
    needed: int
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Closed:
    """A gathered group that this worker has closed and must judge: the bodies of its rollouts by place.

    ``lost`` rollouts will never come. ``shared`` is what the rollouts share.
    """

    name: str
    size: int
    seen_shared: bytes
    shared: bytes
    bodies: Mapping[int, bytes]
    seen: Mapping[int, bytes]
    lost: int


@dataclass(frozen=True, slots=True)
class Joined:
    """What became of an arrival. The group is gathered, being judged, or ended; or the rollout was refused or is late.

    ``number`` names this gathering among those of the same name. ``recorded``: the ledger has the group's result.
    ``ended`` is as in ``Ended``.
    """

    number: int = 0
    refused: Refused | None = None
    known_size: int = 0
    late: bool = False
    recorded: bool = False
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a gathering. ``why`` is what was given to ``end``; None: it was judged and recorded, or forgotten."""

    name: str
    why: str | None


@dataclass(slots=True)
class Joining:
    """What joining changed: what became of each arrival, in order, and the groups that are whole now."""

    joined: list[Joined]
    closed: list[Closed] = field(default_factory=list)


class Gatherings(ABC):
    """Groups that servers with the same ledger gather together. All methods raise LedgerError."""

    @abstractmethod
    async def join(self, arrivals: Sequence[Arrival]) -> Joining:
        """Add rollouts to their groups, durably. The same one again changes nothing."""

    @abstractmethod
    async def close_due(self, most: int) -> list[Closed]:
        """Close at most so many groups whose deadline has passed, or whose worker has ended in the middle."""

    @abstractmethod
    async def ended(self, waiting: Mapping[str, int]) -> list[Ended]:
        """Return those of the gatherings, by name with their numbers, that have ended."""

    @abstractmethod
    async def end(self, judged: Sequence[str], given_up: Mapping[str, tuple[str, float]], again: Sequence[str]) -> None:
        """End groups that this worker closed.

        ``judged`` ones are recorded. Those ``given_up`` are remembered with a text for so many seconds. Groups to be
        judged ``again`` are closed by any worker.
        """
