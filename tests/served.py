"""A server of calipers on a loopback socket, in the test's own event loop, before a judge that a test scripts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import aiohttp

from calipers.server.limits import Limits, Room
from calipers.server.running import address_of, bound_socket, serve
from calipers.server.service import Service
from calipers.server.tenants import TenantToken
from http_judge import judge_at
from servers.faulty_server import FaultyServer

PROMPT = [{"role": "user", "content": "Tell a joke."}]
NOBODY = (TenantToken("default", None),)
ANN_AND_BOB = tuple(TenantToken(name, sha256(name.encode()).digest()) for name in ("ann", "bob"))
ANN, BOB = ({"Authorization": f"Bearer {name}"} for name in ("ann", "bob"))


def rollout(index: int, worth: int = 50, *, size: int = 3, group: str = "g", **more: Any) -> dict[str, Any]:
    """The body of a rollout that is worth so many points to the judge."""
    says = [{"role": "assistant", "content": f"rollout {index} is worth {worth}"}]
    return {"group_id": group, "group_size": size, "index": index, "messages": says, "context": PROMPT, **more}


THREE = (rollout(0, 20), rollout(1, 90), rollout(2, 55))
"""The rollouts of a group, which are worth 0.2, 0.9 and 0.55."""
GROUP = {"context": PROMPT, "trajectories": [{"id": str(one["index"]), "messages": one["messages"]} for one in THREE]}
"""The same as a whole group."""


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)


def rewards(replies: Sequence[Reply]) -> list[float | None]:
    assert {one.status for one in replies} == {200}, replies
    return [one.body["reward"] for one in replies]


@dataclass(frozen=True)
class Ending:
    """How a running server is told to end."""

    server: Any

    def set(self) -> None:
        self.server.should_exit = True


@dataclass(frozen=True)
class Served:
    """A running server, and requests to it."""

    url: str
    service: Service
    session: aiohttp.ClientSession
    ends: Ending
    running: asyncio.Task[None]

    async def ended(self, seconds: float = 30.0) -> None:
        """Wait until the server has ended and closed its ledger."""
        await asyncio.wait_for(asyncio.shield(self.running), seconds)

    async def post(self, path: str, body: Any, **options: Any) -> Reply:
        sent = {"json": body} if isinstance(body, dict | list) else {"data": body}
        async with self.session.post(self.url + path, **sent, **options) as reply:
            return Reply(reply.status, reply.headers, await reply.text())

    async def get(self, path: str, **options: Any) -> Reply:
        async with self.session.get(self.url + path, **options) as reply:
            return Reply(reply.status, reply.headers, await reply.text())

    async def rollouts(self, *bodies: Any, **options: Any) -> list[Reply]:
        """The replies to rollouts that are sent at the same time."""
        return await asyncio.gather(*(self.post("/v1/rollouts", one, **options) for one in bodies))

    async def held(self, *bodies: Any, **options: Any) -> asyncio.Future[list[Reply]]:
        """Send rollouts that will wait, and go on once they do."""
        awaited = self.waiting + len(bodies)
        replies = asyncio.ensure_future(self.rollouts(*bodies, **options))
        await until(lambda: self.waiting >= awaited)
        return replies

    async def connect(self, *parts: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection of its own, on which this has been sent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for part in parts:
            writer.write(part)
            await writer.drain()
        return reader, writer

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def waiting(self) -> int:
        return self.service.room.taken


@asynccontextmanager
async def served(
    faulty: FaultyServer,
    *,
    ledger: str | None = None,
    tenants: Sequence[TenantToken] = NOBODY,
    rollouts: int = 1000,
    size: int = 2**24,
    grace: float = 5.0,
    port: int = 0,
    judge: Mapping[str, Any] | None = None,
    **limits: Any,
) -> AsyncIterator[Served]:
    """A server that runs while the block does. ``limits`` are those of ``Limits``."""

    def make_judge(store: Any, monitor: Any) -> Any:
        return judge_at(faulty, ledger=store, watchers=[monitor], **(judge or {}))

    room = Room(rollouts=rollouts, size=size)
    service = Service(tenants, make_judge, ledger=ledger, room=room, limits=Limits(**limits))
    bound = bound_socket("127.0.0.1", port)
    started: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(serve(service, bound, grace=grace, on_started=started.set_result))
    ends = Ending(await started)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(60)) as session:
        try:
            yield Served(address_of(bound), service, session, ends, running)
        finally:
            ends.set()
            await running


def questions(faulty: FaultyServer) -> int:
    """How many questions about groups the judge was asked, without those that only want to know the server."""
    return sum("Score these attempts" in str(post["messages"]) for post in faulty.posts)


async def until(condition: Any, seconds: float = 10.0) -> None:
    """Wait until ``condition()`` is true: it becomes so in another task, or in another process."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - another process may make it true
            await asyncio.sleep(0.01)
