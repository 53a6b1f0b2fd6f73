"""Groups that several servers gather together in Postgres: one closes a whole group and judges it, the others wait.

Each change of a group locks its row, in the order of the keys, so servers never wait for each other in a circle. A
worker holds an advisory lock with its number while its connection lives, as ``claims`` has it. All methods may be
called from any event loop. Not responsible for judging.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Final, TypeVar

import asyncpg

from calipers.ledger.gatherings import Arrival, Closed, Ended, Gatherings, Joined, Joining
from calipers.ledger.postgres.address import Address
from calipers.ledger.postgres.claims import END_LOST
from calipers.ledger.postgres.connection import Connection, LoopThread
from calipers.ledger.postgres.values import from_postgres, to_postgres

T = TypeVar("T")

_ORPHAN_SECONDS: Final = 2.0
"""How long a worker must be gone before its groups are judged by another: after a restart of Postgres all are gone."""
_BEGIN: Final = """INSERT INTO gatherings (key, name, size, seen, shared, ends_at)
SELECT key, name, size, seen, shared, clock_timestamp() + wait * interval '1 second'
FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::bytea[], $5::bytea[], $6::float8[])
AS new (key, name, size, seen, shared, wait) ORDER BY key ON CONFLICT DO NOTHING RETURNING key"""
_LOCK: Final = """SELECT key, size, seen, worker, ended, number FROM gatherings WHERE key = ANY($1::bytea[])
ORDER BY key FOR UPDATE"""
_RECORDED: Final = """SELECT key FROM unnest($1::bytea[], $2::text[]) AS asked (key, name)
WHERE EXISTS (SELECT 1 FROM groups WHERE group_id = asked.name)"""
_ADD: Final = """INSERT INTO gathered (key, place, seen, body)
SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[]) ON CONFLICT DO NOTHING RETURNING key, place"""
_FIND: Final = """SELECT key, place, seen FROM gathered JOIN unnest($1::bytea[], $2::bigint[]) AS asked (key, place)
USING (key, place)"""
_COUNT: Final = """SELECT key, count(*), count(*) - count(body) FROM gathered WHERE key = ANY($1::bytea[])
GROUP BY key"""
_CLOSE: Final = (
    """UPDATE gatherings SET worker = $2 WHERE key = ANY($1::bytea[]) RETURNING key, name, size, seen, shared"""
)
_BODIES: Final = "SELECT key, place, seen, body FROM gathered WHERE key = ANY($1::bytea[]) ORDER BY key, place"
_LIVING: Final = """ARRAY(SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1
AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"""
_DUE: Final = f"""SELECT key, worker FROM gatherings WHERE ended IS NULL AND (
(worker IS NULL AND ends_at <= clock_timestamp()) OR (worker = $1 AND key <> ALL($2::bytea[]))
OR (worker <> $1 AND worker <> ALL({_LIVING}))) ORDER BY ends_at LIMIT $3"""  # noqa: S608 - our own text
_STILL_DUE: Final = """SELECT key FROM gatherings
JOIN unnest($1::bytea[], $2::bigint[]) AS due (key, worker) USING (key)
WHERE ended IS NULL AND gatherings.worker IS NOT DISTINCT FROM due.worker
ORDER BY key FOR UPDATE OF gatherings SKIP LOCKED"""
_FORGET: Final = """DELETE FROM gatherings WHERE key IN (SELECT key FROM gatherings
WHERE ended IS NOT NULL AND ends_at <= clock_timestamp() ORDER BY key FOR UPDATE SKIP LOCKED) RETURNING key"""
_ENDED: Final = """SELECT key, ended FROM unnest($1::bytea[], $2::bigint[]) AS waiting (key, number)
LEFT JOIN gatherings USING (key, number) WHERE gatherings.key IS NULL OR ended IS NOT NULL"""
_JUDGED: Final = "DELETE FROM gatherings WHERE key = ANY($1::bytea[]) AND worker = $2 RETURNING key"
_GIVEN_UP: Final = """UPDATE gatherings SET ended = $3, worker = NULL,
ends_at = clock_timestamp() + $4::float8 * interval '1 second' WHERE key = $1 AND worker = $2"""
_AGAIN: Final = """UPDATE gatherings SET worker = NULL, ends_at = clock_timestamp()
WHERE key = ANY($1::bytea[]) AND worker = $2"""
_REMOVE: Final = "DELETE FROM gathered WHERE key = ANY($1::bytea[])"


class PostgresGatherings(Gatherings):
    """The groups that are gathered in the ledger at ``address``. ``patience`` is that of its connection, in seconds."""

    def __init__(self, address: Address, thread: LoopThread, patience: float) -> None:
        self._thread = thread
        self._connection = Connection(address, patience, self._register)
        self._worker = secrets.randbits(62)
        self._judging: dict[bytes, str] = {}
        self._orphans: dict[bytes, float] = {}

    async def _register(self, connection: asyncpg.Connection) -> None:
        """Hold the worker's lock, which says that the groups it closed are being judged."""
        await connection.execute(END_LOST, self._worker)
        await connection.execute("SELECT pg_advisory_lock($1)", self._worker)

    async def _run(self, verb: str, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        return await self._thread.awaited(self._connection.run(verb, work))

    async def join(self, arrivals: Sequence[Arrival]) -> Joining:
        """Add rollouts to their groups, durably. The same one again changes nothing."""
        return await self._run("written", partial(self._join, arrivals))

    async def _join(self, arrivals: Sequence[Arrival], connection: asyncpg.Connection) -> Joining:
        keys = [_key(one.name) for one in arrivals]
        async with connection.transaction():
            begun = await _begun(connection, arrivals, keys)
            rows = {row["key"]: row for row in await connection.fetch(_LOCK, sorted(set(keys)))}
            recorded = await _recorded(connection, arrivals, keys, rows, begun)
            taken = [_Place(key, one, rows.get(key)) for key, one in zip(keys, arrivals, strict=True)]
            fresh = await _added(connection, [one for one in taken if one.is_open])
            await _find_earlier(connection, taken)
            whole = await _whole(connection, [one for one in taken if one.key in fresh])
            closed = await self._close(connection, whole)
        self._note(closed)
        return Joining([one.joined(recorded=one.key in recorded) for one in taken], closed)

    async def _close(self, connection: asyncpg.Connection, keys: Sequence[bytes]) -> list[Closed]:
        """Close groups whose rows are locked, and return them with their rollouts."""
        if not keys:
            return []
        members: dict[bytes, list[asyncpg.Record]] = {key: [] for key in keys}
        for row in await connection.fetch(_BODIES, list(keys)):
            members[row["key"]].append(row)
        rows = await connection.fetch(_CLOSE, list(keys), self._worker)
        return [_closed(row, members[row["key"]]) for row in rows]

    def _note(self, closed: Sequence[Closed]) -> None:
        self._judging |= {_key(one.name): one.name for one in closed}

    async def close_due(self, most: int) -> list[Closed]:
        """Close at most so many groups whose deadline has passed, or whose worker has ended in the middle."""
        return await self._run("written", partial(self._close_due, most))

    async def _close_due(self, most: int, connection: asyncpg.Connection) -> list[Closed]:
        if forgotten := [row[0] for row in await connection.fetch(_FORGET)]:
            await connection.execute(_REMOVE, forgotten)
        found = await connection.fetch(_DUE, self._worker, list(self._judging), 4 * most)
        now = time.monotonic()
        others = {row["key"] for row in found if row["worker"] not in {None, self._worker}}
        self._orphans = {key: self._orphans.get(key, now) for key in others}
        due = [row for row in found if row["key"] not in others or now - self._orphans[row["key"]] >= _ORPHAN_SECONDS][
            :most
        ]
        if not due:
            return []
        async with connection.transaction():
            still = await connection.fetch(_STILL_DUE, [row["key"] for row in due], [row["worker"] for row in due])
            closed = await self._close(connection, [row[0] for row in still])
        self._note(closed)
        return closed

    async def ended(self, waiting: Mapping[str, int]) -> list[Ended]:
        """Return those of the gatherings, by name with their numbers, that have ended."""
        keys = {_key(name): name for name in waiting}
        values = list(keys), list(waiting.values())
        found = await self._run("read", lambda connection: connection.fetch(_ENDED, *values))
        return [Ended(keys[key], None if why is None else _read(why)) for key, why in found]

    async def end(self, judged: Sequence[str], given_up: Mapping[str, tuple[str, float]], again: Sequence[str]) -> None:
        """End groups that this worker closed: judged, given up and remembered for seconds, or to be judged again."""
        done, free = [_key(name) for name in judged], [_key(name) for name in again]
        lost = {_key(name): (_text(why), seconds) for name, (why, seconds) in given_up.items()}

        async def write(connection: asyncpg.Connection) -> None:
            async with connection.transaction():
                await connection.fetch(_LOCK, sorted({*done, *free, *lost}))
                if done:
                    await connection.execute(
                        _REMOVE, [row[0] for row in await connection.fetch(_JUDGED, done, self._worker)]
                    )
                for key, (why, seconds) in lost.items():
                    await connection.execute(_GIVEN_UP, key, self._worker, why, seconds)
                if free:
                    await connection.execute(_AGAIN, free, self._worker)
            for key in (*done, *free, *lost):
                self._judging.pop(key, None)

        await self._run("written", write)

    async def disconnect(self) -> None:
        """Close the connection, on the ledger's thread; other workers then take over what this one was judging."""
        await self._connection.close()


class _Place:
    """An arrival beside the row of its group, and what is known of earlier arrivals at the same place."""

    def __init__(self, key: bytes, arrival: Arrival, row: asyncpg.Record | None) -> None:
        self.key, self.arrival, self.row = key, arrival, row
        self.earlier: bytes | None = None

    @property
    def agrees(self) -> bool:
        row, one = self.row, self.arrival
        return row is not None and (row["size"], row["seen"]) == (one.size, one.seen_shared)

    @property
    def is_open(self) -> bool:
        return self.agrees and self.row is not None and self.row["worker"] is None and self.row["ended"] is None

    def joined(self, *, recorded: bool) -> Joined:
        """Return what became of the arrival once ``earlier`` is the digest that the ledger has at its place."""
        row, one = self.row, self.arrival
        if row is None:
            return Joined(recorded=True) if recorded else Joined(refused="absent")
        if not self.agrees:
            return Joined(refused="size" if row["size"] != one.size else "shared", known_size=row["size"])
        if self.earlier is None:
            return Joined(late=True)
        if self.earlier != one.seen:
            return Joined(refused="messages")
        return Joined(row["number"], ended=None if row["ended"] is None else _read(row["ended"]))


async def _begun(connection: asyncpg.Connection, arrivals: Sequence[Arrival], keys: Sequence[bytes]) -> set[bytes]:
    """Begin the groups that are new, and return their keys."""
    new = {key: one for key, one in zip(keys, arrivals, strict=True) if one.shared is not None}
    if not new:
        return set()
    values = ((_text(one.name), one.size, one.seen_shared, one.shared, one.wait) for one in new.values())
    columns = map(list, zip(*values, strict=True))
    return {row[0] for row in await connection.fetch(_BEGIN, list(new), *columns)}


async def _recorded(
    connection: asyncpg.Connection,
    arrivals: Sequence[Arrival],
    keys: Sequence[bytes],
    rows: dict[bytes, asyncpg.Record],
    begun: set[bytes],
) -> set[bytes]:
    """Return the keys of groups whose result the ledger has, and take them out of ``rows``.

    A group that has just ``begun`` may be one that another server has judged meanwhile; it is removed again.
    """
    unsure = {
        key: _text(one.name)
        for key, one in zip(keys, arrivals, strict=True)
        if (key not in rows or key in begun) and not one.replaces
    }
    if not unsure:
        return set()
    found = {row[0] for row in await connection.fetch(_RECORDED, list(unsure), list(unsure.values()))}
    if found & begun:
        await connection.execute("DELETE FROM gatherings WHERE key = ANY($1::bytea[])", list(found & begun))
    for key in found:
        rows.pop(key, None)
    return found


async def _added(connection: asyncpg.Connection, places: Sequence[_Place]) -> set[bytes]:
    """Add rollouts that are new, which are then the earlier ones themselves, and return the keys of their groups."""
    if not places:
        return set()
    columns = zip(*((one.key, one.arrival.place, one.arrival.seen, one.arrival.body) for one in places), strict=True)
    new = {(row["key"], row["place"]) for row in await connection.fetch(_ADD, *map(list, columns))}
    for one in places:
        if (one.key, one.arrival.place) in new:
            one.earlier = one.arrival.seen
            new.discard((one.key, one.arrival.place))  # a second one in the same batch may differ from it
    return {one.key for one in places if one.earlier is not None}


async def _find_earlier(connection: asyncpg.Connection, places: Sequence[_Place]) -> None:
    known = [one for one in places if one.agrees and one.earlier is None]
    if not known:
        return
    found = await connection.fetch(_FIND, [one.key for one in known], [one.arrival.place for one in known])
    digests = {(row["key"], row["place"]): row["seen"] for row in found}
    for one in known:
        one.earlier = digests.get((one.key, one.arrival.place))


async def _whole(connection: asyncpg.Connection, places: Sequence[_Place]) -> list[bytes]:
    """Return the keys of groups that wait for nobody: all rollouts have come, or too few of them still can."""
    if not places:
        return []
    arrivals = {one.key: one.arrival for one in places}
    counts = await connection.fetch(_COUNT, list(arrivals))
    return [key for key, there, lost in counts if _is_whole(arrivals[key], there, lost)]


def _is_whole(arrival: Arrival, there: int, lost: int) -> bool:
    return there >= arrival.size or arrival.size - lost < arrival.needed


def _closed(row: asyncpg.Record, members: Sequence[asyncpg.Record]) -> Closed:
    there = [one for one in members if one["body"] is not None]
    return Closed(
        _read(row["name"]),
        row["size"],
        row["seen"],
        row["shared"],
        {one["place"]: one["body"] for one in there},
        {one["place"]: one["seen"] for one in there},
        len(members) - len(there),
    )


def _key(name: str) -> bytes:
    return blake2b(_text(name).encode(), digest_size=16).digest()


def _text(text: str) -> str:
    return str(to_postgres((text,), frozenset())[0])


def _read(text: str) -> str:
    return str(from_postgres([(text,)])[0][0])
