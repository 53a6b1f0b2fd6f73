"""A server on loopback for a page of calipers: who gets an answer, and what every answer says about itself.

Only who has the secret part of the address gets anything, because every user of a machine reaches its loopback ports; a
request under another host name is refused, because that is how a foreign page would reach the port (DNS rebinding).
Not responsible for what is served (``serving``).
"""

from __future__ import annotations

import hmac
import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final
from urllib.parse import parse_qs, urlsplit

from calipers._version import __version__
from calipers.errors import ConfigError
from calipers.types.encoding import to_json

_LOOPBACK: Final = "127.0.0.1"


class LoopbackServer(ThreadingHTTPServer):
    """Serves on loopback, at ``address``. ``port`` 0 takes a free one. Raises ConfigError if it is taken."""

    daemon_threads = True
    _closed = False

    def __init__(self, handler: type[LoopbackHandler], *, port: int = 0) -> None:
        self.secret = secrets.token_urlsafe(16)
        try:
            super().__init__((_LOOPBACK, port), handler)
        except OSError as error:
            raise ConfigError(f"--port {port}: cannot be used ({error.strerror or error}); leave it out") from error
        self.hosts = {f"{name}:{self.server_port}" for name in (_LOOPBACK, "localhost")}

    def server_bind(self) -> None:
        """Bind the server's port; unlike the library's, without asking a name server for this machine's name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = _LOOPBACK, self.server_address[1]

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{_LOOPBACK}:{self.server_port}/{self.secret}/"

    def serve_until_interrupted(self, on_ready: Callable[[str], None]) -> None:
        """Serve the page until Ctrl-C; ``on_ready`` is called with the address."""
        with suppress(KeyboardInterrupt):
            on_ready(self.address)
            self.serve_forever(poll_interval=0.2)

    def server_close(self) -> None:
        """Stop serving; answers that are being written end with the process."""
        self._closed = True
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error of the server; a browser that goes away, and an answer cut off by the end, are none."""
        if not (self._closed or isinstance(sys.exception(), ConnectionError | TimeoutError)):
            super().handle_error(request, client_address)


class LoopbackHandler(BaseHTTPRequestHandler):
    """Checks each request, and gives those that may be answered to ``get``.

    ``printed_by`` is the command that printed the address, and ``policy`` is the page's content security policy.
    """

    printed_by: ClassVar[str]
    server: LoopbackServer
    server_version = f"calipers/{__version__}"
    sys_version = ""
    timeout = 60

    def policy(self) -> str:
        """Return the content security policy of the page."""
        raise NotImplementedError

    def get(self, rest: str, query: dict[str, list[str]]) -> None:
        """Answer a GET for the path ``rest`` after the secret part."""
        raise NotImplementedError

    def do_GET(self) -> None:
        rest = self.allowed_path()
        if rest is not None:
            self.get(rest, parse_qs(urlsplit(self.path).query))

    def allowed_path(self) -> str | None:
        """Return the path after the secret part, or answer the request with an error and return None."""
        try:
            path = urlsplit(self.path).path
        except ValueError:
            self.say(HTTPStatus.BAD_REQUEST, "This is no address.")
            return None
        secret, _, rest = path.removeprefix("/").partition("/")
        if self.headers.get("Host") not in self.server.hosts:
            self.say(HTTPStatus.FORBIDDEN, "This server answers only under its own address.")
        elif not hmac.compare_digest(secret.encode(), self.server.secret.encode()):
            self.say(HTTPStatus.NOT_FOUND, f"Open the whole address that {self.printed_by} printed.")
        else:
            return rest
        return None

    def send_json(self, status: HTTPStatus, value: dict[str, Any]) -> None:
        """Answer with JSON."""
        body = to_json(value, lone="replace")
        self.begin(status, "application/json", len(body))
        self.wfile.write(body)

    def say(self, status: HTTPStatus, text: str) -> None:
        """Answer with a line of text for a person."""
        body = f"{text}\n".encode(errors="replace")
        self.begin(status, "text/plain; charset=utf-8", len(body))
        self.wfile.write(body)

    def begin(self, status: HTTPStatus, kind: str, length: int) -> None:
        """Begin the answer, up to its body."""
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(length)),
            ("Content-Security-Policy", f"{self.policy()}; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing: the terminal is for what the user needs, and addresses hold the secret."""
