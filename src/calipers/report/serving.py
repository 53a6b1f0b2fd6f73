"""A server on loopback that shows a report, and adds to it the groups that a run finishes meanwhile.

The page is the file's page under the same security policy, except that it may ask this server for further groups. Only
who has the secret part of the address gets anything, because every user of a machine reaches its loopback ports; a
request under another host name is refused, because that is how a foreign page would reach the port (DNS rebinding).
Not responsible for the page (``writing``).
"""

from __future__ import annotations

import hmac
import secrets
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from calipers._version import __version__
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.report.details import details_of, index_row
from calipers.report.scripts import page_policy
from calipers.report.sources import open_sources
from calipers.report.writing import packed, write_report
from calipers.types.encoding import to_json

_LOOPBACK: Final = "127.0.0.1"
_GROUPS_AT_ONCE: Final = 200
_LARGEST: Final = 2**63


class ServedReport:
    """The report of ``paths`` (as for ``open_sources``) for a server: its page, and the groups that came after it.

    The run of a ledger is followed if this ledger is the only source; ``follows`` says so.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        groups: str | None = None,
        run: int | None = None,
        redact: bool = False,
        on_error: Callable[[InputError], None],
    ) -> None:
        self._paths = paths
        self._groups = groups
        self._run = run
        self._redact = redact
        self._on_error = on_error
        self._writing = threading.Lock()
        with open_sources(paths, groups=groups, run=run, on_error=on_error) as sources:
            others = sources.results or sources.watched or sources.studies or sources.judge_files
            self.follows = len(sources.ledgers) == 1 and not others

    def write_page(self, out: Path) -> int:
        """Write the page with what is recorded now to ``out``; return its number of groups."""
        with (
            self._writing,
            open_sources(self._paths, groups=self._groups, run=self._run, on_error=self._on_error) as sources,
        ):
            held = sources.hold()
            live = {"run": held[0][0], "cursor": held[0][1]} if self.follows else None
            return write_report(sources, out, redact=self._redact, live=live)

    def news(self, run: int, after: int) -> dict[str, Any]:
        """Return the groups that ``run`` recorded after number ``after``: rows of the index, and packed details.

        ``more`` says that there are further ones, and ``latest`` is the number of the ledger's latest run.
        """
        rows: list[dict[str, Any]] = []
        details: list[bytes] = []
        with open_sources(self._paths, run=run, on_error=self._on_error) as sources:
            ((_, cursor),) = sources.hold()
            for number, judged in sources.since(after, most=_GROUPS_AT_ONCE):
                detail = details_of(judged, redact=self._redact)
                rows.append({**index_row(detail), "line": len(details)})
                details.append(to_json(detail, lone="replace"))
                after = number
        more = len(rows) == _GROUPS_AT_ONCE
        with open_sources(self._paths, on_error=self._on_error) as sources:
            ((latest, _),) = sources.hold()
        return {
            "rows": rows,
            "details": packed(b"\n".join(details)).decode(),
            "cursor": after if more else max(after, cursor),
            "more": more,
            "latest": run if self._run is not None else latest,
        }


class ReportServer(ThreadingHTTPServer):
    """Serves a report on loopback, at ``address``. ``port`` 0 takes a free one. Raises ConfigError if it is taken."""

    daemon_threads = True
    _closed = False

    def __init__(self, report: ServedReport, *, port: int = 0) -> None:
        self.report = report
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

    def server_close(self) -> None:
        """Stop serving; answers that are being written end with the process."""
        self._closed = True
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error of the server; a browser that goes away, and an answer cut off by the end, are none."""
        if not (self._closed or isinstance(sys.exception(), ConnectionError | TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: ReportServer
    server_version = f"calipers/{__version__}"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        secret, _, rest = asked.path.removeprefix("/").partition("/")
        if self.headers.get("Host") not in self.server.hosts:
            self._say(HTTPStatus.FORBIDDEN, "This server answers only under its own address.")
        elif not hmac.compare_digest(secret.encode(), self.server.secret.encode()):
            self._say(HTTPStatus.NOT_FOUND, "Open the whole address that calipers report --serve printed.")
        elif rest == "":
            self._send_page()
        elif rest == "groups" and self.server.report.follows:
            self._send_news(parse_qs(asked.query))
        else:
            self._say(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def _send_page(self) -> None:
        with tempfile.TemporaryDirectory(prefix="calipers-report-") as folder:
            page = Path(folder) / "report.html"
            try:
                self.server.report.write_page(page)
            except CalipersError as error:
                self._say(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
                return
            self._begin(HTTPStatus.OK, "text/html; charset=utf-8", page.stat().st_size)
            with page.open("rb") as stream:
                shutil.copyfileobj(stream, self.wfile)

    def _send_news(self, query: dict[str, list[str]]) -> None:
        run, after = (_whole(query.get(name, [""])[0]) for name in ("run", "after"))
        if run is None or after is None:
            self._send_json(HTTPStatus.BAD_REQUEST, {"error": "run and after are whole numbers"})
            return
        try:
            news = self.server.report.news(run, after)
        except CalipersError as error:
            self._send_json(HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)})
        else:
            self._send_json(HTTPStatus.OK, news)

    def _send_json(self, status: HTTPStatus, value: dict[str, Any]) -> None:
        body = to_json(value, lone="replace")
        self._begin(status, "application/json", len(body))
        self.wfile.write(body)

    def _say(self, status: HTTPStatus, text: str) -> None:
        body = f"{text}\n".encode(errors="replace")
        self._begin(status, "text/plain; charset=utf-8", len(body))
        self.wfile.write(body)

    def _begin(self, status: HTTPStatus, kind: str, length: int) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(length)),
            ("Content-Security-Policy", f"{page_policy(live=True)}; frame-ancestors 'none'"),
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


def serve_report(report: ServedReport, *, port: int = 0, on_ready: Callable[[str], None]) -> None:
    """Serve a report until Ctrl-C; ``on_ready`` is called with the address."""
    with ReportServer(report, port=port) as server:
        on_ready(server.address)
        with suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.2)


def _whole(text: str) -> int | None:
    """Return the whole number that a text is, or None if it is none that SQLite can hold."""
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(_LARGEST)) or int(text) >= _LARGEST:
        return None
    return int(text)
