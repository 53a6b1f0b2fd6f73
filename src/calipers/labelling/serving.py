"""The server of the label page, on loopback: groups go out blinded, and rankings come in.

Only who has the secret part of the address gets anything, because every user of a machine reaches its loopback ports; a
request under another host name is refused, because that is how a foreign page would reach the port (DNS rebinding). An
answer says "saved" only after the label is on the disk.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from calipers._version import __version__
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs.records import parse_json_line
from calipers.labelling.labels import StaleLabelError
from calipers.labelling.session import RefusedLabelError, Session
from calipers.report.writing import joined_modules, page_file, policy_for
from calipers.types.encoding import to_json

LARGEST_BODY: Final = 256 * 1024
"""The most bytes of a request's body: the ranks of thousands of candidates and a note."""
_LOOPBACK: Final = "127.0.0.1"
_SHARED_MODULES: Final = ("elements", "numbers", "text", "messages")
_SHARED_STYLES: Final = ("base", "frame", "group", "text")
MODULES: Final = ("ranking", "wire", "candidates", "label")
"""The page's own modules; each imports only from those before it, and from the report's."""


class LabelServer(ThreadingHTTPServer):
    """Serves the page of ``session`` on loopback. ``port`` 0 takes a free one. Raises ConfigError if it is taken."""

    daemon_threads = True
    _closed = False

    def __init__(self, session: Session, *, port: int = 0) -> None:
        self.session = session
        self.secret = secrets.token_urlsafe(16)
        try:
            super().__init__((_LOOPBACK, port), _Handler)
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


class _Handler(BaseHTTPRequestHandler):
    server: LabelServer
    server_version = f"calipers/{__version__}"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        rest, session = self._allowed_path(), self.server.session
        token = parse_qs(urlsplit(self.path).query).get("token", [""])[0] or None if rest is not None else None
        if rest == "":
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", label_page())
        elif rest in {"next", "previous"}:
            self._answer(lambda: session.next(token) if rest == "next" else session.previous(token))
        elif rest is not None:
            self._say(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def do_POST(self) -> None:
        rest = self._allowed_path()
        body = None if rest is None else self._body()
        if body is None:
            return
        session, token = self.server.session, str(body.get("token"))
        if rest == "label":
            self._answer(lambda: session.save(token, body.get("ranks"), body.get("note"), body.get("based_on")))
        elif rest == "undo":
            self._answer(lambda: session.take_back(token, body.get("based_on")))
        else:
            self._say(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def _allowed_path(self) -> str | None:
        """Return the path after the secret part, or answer the request with an error and return None."""
        try:
            path = urlsplit(self.path).path
        except ValueError:
            self._say(HTTPStatus.BAD_REQUEST, "This is no address.")
            return None
        secret, _, rest = path.removeprefix("/").partition("/")
        if self.headers.get("Host") not in self.server.hosts:
            self._say(HTTPStatus.FORBIDDEN, "This server answers only under its own address.")
        elif not hmac.compare_digest(secret.encode(), self.server.secret.encode()):
            self._say(HTTPStatus.NOT_FOUND, "Open the whole address that calipers label printed.")
        else:
            return rest
        return None

    def _body(self) -> dict[str, Any] | None:
        """Return the JSON object of a request's body, or answer the request with an error and return None."""
        length = self.headers.get("Content-Length", "")
        origins = {f"http://{host}" for host in self.server.hosts}
        self.close_connection = True  # whatever is refused here is not read, and would be taken for the next request
        if self.headers.get("Origin", next(iter(origins))) not in origins:
            self._say(HTTPStatus.FORBIDDEN, "This server takes labels from its own page only.")
        elif self.headers.get_content_type() != "application/json":
            self._say(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "A label is sent as application/json.")
        elif not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            self._say(HTTPStatus.LENGTH_REQUIRED, "A request needs a Content-Length.")
        elif len(length) > 12 or int(length) > LARGEST_BODY:
            self._say(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request has at most {LARGEST_BODY:,} bytes.")
        elif isinstance(value := parse_json_line(self.rfile.read(int(length))), str):
            self._say(HTTPStatus.BAD_REQUEST, f"The body is no JSON object: {value}")
        else:
            return value
        return None

    def _answer(self, act: Callable[[], dict[str, Any]]) -> None:
        """Answer with what ``act`` returns, or with why it does not."""
        try:
            status, value = HTTPStatus.OK, act()
        except StaleLabelError as error:
            status, value = HTTPStatus.CONFLICT, {"error": str(error), "revision": error.revision}
        except RefusedLabelError as error:
            status, value = HTTPStatus.BAD_REQUEST, {"error": str(error)}
        except InputError as error:
            self.server.session.report(error)  # its text names the group, which the page must not know
            status = HTTPStatus.UNPROCESSABLE_ENTITY
            value = {"error": "The group cannot be read; see the terminal."}
        except CalipersError as error:
            status, value = HTTPStatus.INSUFFICIENT_STORAGE, {"error": str(error)}
        self._send(status, "application/json", to_json(value, lone="replace"))

    def _say(self, status: HTTPStatus, text: str) -> None:
        """Answer with a line of text for a person."""
        self._send(status, "text/plain; charset=utf-8", f"{text}\n".encode(errors="replace"))

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", f"{label_policy()}; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: the terminal is for what the user needs, and addresses hold the secret."""


@cache
def label_page() -> bytes:
    """Return the whole page. It holds no data."""
    head = _own("head.html").replace("@POLICY@", label_policy()).replace("@STYLE@", _style())
    return f'{head}<script type="module">{_script()}</script>\n</body>\n</html>\n'.encode()


@cache
def label_policy() -> str:
    """Return the page's content security policy: its own script and style, and its own server."""
    return policy_for(_script(), _style(), connects=True)


@cache
def _script() -> str:
    shared = [page_file(f"{name}.js") for name in _SHARED_MODULES]
    return joined_modules([*shared, *(_own(f"{name}.js") for name in MODULES)])


@cache
def _style() -> str:
    return "".join(page_file(f"{name}.css") for name in _SHARED_STYLES) + _own("label.css")


def _own(name: str) -> str:
    return files("calipers.labelling").joinpath("page", name).read_text(encoding="utf-8")
