"""A server on loopback that shows a report, and adds to it what a run finishes meanwhile: groups, and its figures.

The page is the file's page under the same security policy, except that it may ask this server for what is new. Not
responsible for the page (``writing``), or for who gets it (``loopback``).
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from calipers.errors import CalipersError, InputError
from calipers.report.details import details_of, index_row
from calipers.report.loopback import LoopbackHandler, LoopbackServer
from calipers.report.scripts import page_policy
from calipers.report.sources import open_sources
from calipers.report.views import Views
from calipers.report.writing import packed, write_report
from calipers.types.encoding import to_json

_GROUPS_AT_ONCE: Final = 200
_MOST_PAGES: Final = 8
"""How many open pages' views are kept up to date; each takes a few megabytes."""
_LARGEST: Final = 2**63


@dataclass(slots=True)
class _OpenPage:
    """A page that somebody has opened: the views of ``run`` up to the group with the number ``cursor``."""

    run: int
    cursor: int
    views: Views
    lock: threading.Lock = field(default_factory=threading.Lock)


class ServedReport:
    """The report of ``paths`` (as for ``open_sources``) for a server: its page, and what came after it.

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
        self._pages: dict[int, _OpenPage] = {}
        self._count = 0
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
            if not self.follows:
                return write_report(sources, out, redact=self._redact)
            [(run, cursor)] = held
            self._count += 1
            live = {"run": run, "cursor": cursor, "page": self._count}
            views = Views(sources, redact=self._redact)
            count = write_report(sources, out, redact=self._redact, live=live, views=views)
            self._pages[self._count] = _OpenPage(run, cursor, views)
            while len(self._pages) > _MOST_PAGES:
                del self._pages[min(self._pages)]
            return count

    def views(self, page: int) -> dict[str, list[dict[str, Any]]] | None:
        """Return the views of the page that was written as number ``page``, as they are now, by kind.

        None for a page that was not written, or so long ago that others have taken its place.
        """
        known = self._pages.get(page)
        if known is None:
            return None
        with known.lock, open_sources(self._paths, run=known.run, on_error=self._on_error) as sources:
            sources.hold()
            while read := list(sources.since(known.cursor, most=_GROUPS_AT_ONCE)):
                for number, judged in read:
                    known.views.add(judged, details_of(judged, redact=self._redact))
                    known.cursor = number
            return known.views.lines(sources)

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


class ReportServer(LoopbackServer):
    """Serves a report on loopback, at ``address``. ``port`` 0 takes a free one. Raises ConfigError if it is taken."""

    def __init__(self, report: ServedReport, *, port: int = 0) -> None:
        self.report = report
        super().__init__(_Handler, port=port)


class _Handler(LoopbackHandler):
    printed_by = "calipers report --serve"
    server: ReportServer

    def policy(self) -> str:
        return page_policy(live=True)

    def get(self, rest: str, query: dict[str, list[str]]) -> None:
        if rest == "":
            self._send_page()
        elif rest == "groups" and self.server.report.follows:
            self._send_news(query)
        elif rest == "views" and self.server.report.follows:
            self._send_views(query)
        else:
            self.say(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def _send_page(self) -> None:
        with tempfile.TemporaryDirectory(prefix="calipers-report-") as folder:
            page = Path(folder) / "report.html"
            try:
                self.server.report.write_page(page)
            except CalipersError as error:
                self.say(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
                return
            self.begin(HTTPStatus.OK, "text/html; charset=utf-8", page.stat().st_size)
            with page.open("rb") as stream:
                shutil.copyfileobj(stream, self.wfile)

    def _send_news(self, query: dict[str, list[str]]) -> None:
        run, after = (_whole(query.get(name, [""])[0]) for name in ("run", "after"))
        if run is None or after is None:
            self.send_json(HTTPStatus.BAD_REQUEST, {"error": "run and after are whole numbers"})
        else:
            self._send_found(lambda: self.server.report.news(run, after))

    def _send_views(self, query: dict[str, list[str]]) -> None:
        page = _whole(query.get("page", [""])[0])
        if page is None:
            self.send_json(HTTPStatus.BAD_REQUEST, {"error": "page is a whole number"})
        else:
            self._send_found(lambda: self.server.report.views(page))

    def _send_found(self, find: Callable[[], dict[str, Any] | None]) -> None:
        try:
            found = find()
        except CalipersError as error:
            self.send_json(HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)})
            return
        if found is None:
            self.send_json(HTTPStatus.GONE, {"error": "this page was opened long ago; load it again"})
        else:
            self.send_json(HTTPStatus.OK, found)


def serve_report(report: ServedReport, *, port: int = 0, on_ready: Callable[[str], None]) -> None:
    """Serve a report until Ctrl-C; ``on_ready`` is called with the address."""
    with ReportServer(report, port=port) as server:
        server.serve_until_interrupted(on_ready)


def _whole(text: str) -> int | None:
    """Return the whole number that a text is, or None if it is none that SQLite can hold."""
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(_LARGEST)) or int(text) >= _LARGEST:
        return None
    return int(text)
