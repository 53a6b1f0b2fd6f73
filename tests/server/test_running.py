"""What the server changes in its process, and that it changes it back."""

from __future__ import annotations

import asyncio
import socket

from calipers.server.running import bound_socket


async def test_the_server_sends_an_answers_body_at_once_and_not_when_its_head_was_acknowledged():
    at_once: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        at_once.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    bound = bound_socket("127.0.0.1", 0)
    async with await asyncio.start_server(connected, sock=bound):
        _, caller = await asyncio.open_connection(*bound.getsockname())
        assert await at_once
        caller.close()
        await caller.wait_closed()
