"""Serve a monitor's metrics to Prometheus over HTTP, from a separate thread.

For a process without an exporter. A process that has an exporter adds ``monitoring.prometheus.exposition`` to its page.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from calipers.errors import ConfigError
from calipers.monitoring.prometheus import CONTENT_TYPE, exposition


class Exporter:
    """Serves ``metrics()`` at ``GET /metrics`` on ``host:port``; port 0 takes a free port. A context manager.

    Listens on loopback by default. Raises ConfigError if the address is not available.
    """

    def __init__(
        self,
        metrics: Callable[[], Mapping[str, float]],
        *,
        port: int = 9464,
        host: str = "127.0.0.1",
        labels: Mapping[str, str] | None = None,
    ) -> None:
        class Page(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = self.path.partition("?")[0] == "/metrics"
                body = exposition(metrics(), labels).encode() if found else b"not found; the metrics are at /metrics\n"
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Write nothing to the log, because Prometheus asks for the metrics every few seconds."""

        try:
            self._server = ThreadingHTTPServer((host, port), Page)
        except OSError as error:
            raise ConfigError(f"the metrics page cannot be served at {host}:{port}: {error.strerror}") from error
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="calipers-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving metrics and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
