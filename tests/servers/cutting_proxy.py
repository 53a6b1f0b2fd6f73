"""A loopback TCP proxy that cuts connections: before the request is through, while it waits, or in its answer."""

from __future__ import annotations

import asyncio
from typing import Self

from benchmarks.faults.chaos_parts import pump


class CuttingProxy:
    """Forwards connections to ``port``. ``cut`` ends all that are open; ``plan`` says when each new one is cut.

    An entry of ``plan`` is None (never), or the number of bytes of the answer, or of the request if it is negative,
    after which the connection is cut. Connections beyond the plan are not cut.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._open: set[asyncio.StreamWriter] = set()
        self.plan: list[int | None] = []
        self.port = 0
        self.cuts = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        after = self.plan.pop(0) if self.plan else None
        try:
            their_reader, their_writer = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:  # nobody listens: the client must see that at once, and not wait for an answer
            writer.transport.abort()
            return
        pair = (writer, their_writer)
        self._open.update(pair)
        to_server = asyncio.create_task(pump(reader, their_writer, None if after is None or after >= 0 else -after))
        to_client = asyncio.create_task(pump(their_reader, writer, None if after is None or after < 0 else after))
        await asyncio.wait((to_server, to_client), return_when=asyncio.FIRST_COMPLETED)
        self.cuts += after is not None
        for task in (to_server, to_client):
            task.cancel()
        for one in pair:
            one.transport.abort()
        self._open.difference_update(pair)
