"""A connection to the server, with its bounds."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from calipers.server import limits


class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed if too much is sent beside bodies, headers come too late, or answers are not read."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.too_slow = self.loop.call_later(limits.HEADER_SECONDS, transport.close)
        self.unread = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) == limits.MOST_FIELDS:
            raise ValueError("too many headers")  # it ends the connection
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self.unread = 0
        self.too_slow.cancel()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self.unread = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # no request is waiting that was sent ahead of this answer
            self.too_slow.cancel()
            self.too_slow = self.loop.call_later(limits.HEADER_SECONDS, self.transport.close)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.not_read = self.loop.call_later(limits.HEADER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.not_read.cancel()

    def data_received(self, data: bytes) -> None:
        self.unread += len(data)
        super().data_received(data)
        if self.unread > limits.MOST_HEADERS:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.too_slow.cancel()
        super().connection_lost(exc)
