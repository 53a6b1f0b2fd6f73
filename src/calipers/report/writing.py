"""Writes a report's page as a stream: memory holds one chunk of groups at a time, however many there are.

The page holds two kinds of data blocks, compressed JSON in base64: *details*, a few groups each, which the page unpacks
when one of them is looked at, and *rows* of the index, which it unpacks when it opens. No text from a file gets into
the page in any other form, so none is ever parsed as HTML. Not responsible for what the data say (``details``).
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from calipers._version import __version__
from calipers.errors import ConfigError
from calipers.report.details import details_of, index_row
from calipers.report.runs.collected import studies_of
from calipers.report.scripts import page_head, page_script
from calipers.report.sources import Sources
from calipers.report.views import Views
from calipers.types.encoding import to_json

_CHUNK: Final = 192 * 1024
"""Bytes of JSON after which a block of details is complete: small enough to unpack in a few milliseconds."""
_ROWS: Final = 1000
_LEVEL: Final = 6
_OPENS: Final = {"results": "groups", "ledger": "groups", "judge": "judge", "watched": "run", "study": "study"}
"""The view that a page opens, by the kind of the source that is named first."""


class Page:
    """Writes the page to ``stream``: ``add`` each group's row and details, then ``finish``.

    A ``live`` page may ask the server that it came from for further groups.
    """

    def __init__(self, stream: BinaryIO, *, live: bool = False) -> None:
        self._stream = stream
        self._details: list[bytes] = []
        self._size = 0
        self._chunks = 0
        self._rows: list[bytes] = []
        self.count = 0
        stream.write(page_head(live=live).encode())

    def add(self, row: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        """Add a group to the page. ``row`` must not have the keys ``chunk`` and ``line``, which say where it is."""
        self._rows.append(to_json({**row, "chunk": self._chunks, "line": len(self._details)}, lone="replace"))
        encoded = to_json(detail, lone="replace")
        self._details.append(encoded)
        self._size += len(encoded)
        self.count += 1
        if self._size >= _CHUNK:
            self._write_details()
        if len(self._rows) >= _ROWS:
            self._write_rows()

    def add_view(self, kind: str, lines: Sequence[Mapping[str, Any]]) -> None:
        """Add the data of a view beside the groups, which the page shows if it has any."""
        if lines:
            self._write_block(kind, b"\n".join(to_json(one, lone="replace") for one in lines))

    def finish(self, about: Mapping[str, Any]) -> None:
        """Write what is left, what the page says ``about`` itself, and the script that shows it all."""
        self._write_details()
        self._write_rows()
        self._write_block("about", to_json(about, lone="replace"))
        self._stream.write(f'<script type="module">{page_script()}</script>\n</body>\n</html>\n'.encode())

    def _write_details(self) -> None:
        if self._details:
            self._write_block("details", b"\n".join(self._details))
            self._details, self._size = [], 0
            self._chunks += 1

    def _write_rows(self) -> None:
        if self._rows:
            self._write_block("rows", b"\n".join(self._rows))
            self._rows = []

    def _write_block(self, kind: str, data: bytes) -> None:
        # A type that is no script's makes a browser keep the contents as text, without reading it.
        self._stream.write(f'<script type="application/x-calipers-{kind}">'.encode())
        self._stream.write(packed(data))
        self._stream.write(b"</script>\n")


def packed(data: bytes) -> bytes:
    """Return JSON lines as the page unpacks them: compressed, in base64."""
    return base64.b64encode(zlib.compress(data, _LEVEL))


def write_report(
    sources: Sources,
    out: Path,
    *,
    redact: bool = False,
    live: Mapping[str, Any] | None = None,
    views: Views | None = None,
) -> int:
    """Write the page that shows ``sources`` to ``out``, and return its number of groups.

    With ``redact``, the page holds no text of a trajectory, a prompt or a judge. ``live`` is what the page needs in
    order to ask its server for what comes later (``serving``), and ``views`` are new ones, to which the server adds it.
    ``out`` is replaced when the page is complete, so a failure leaves an older page as it was. Raises ConfigError if it
    cannot be written, and what reading ``sources`` raises.
    """
    part = out.with_name(f"{out.name}.part")
    views = Views(sources, redact=redact) if views is None else views
    try:
        with part.open("wb") as stream:
            page = Page(stream, live=live is not None)
            for judged in sources:
                detail = details_of(judged, redact=redact)
                views.add(judged, detail)
                page.add(index_row(detail), detail)
            for kind, lines in views.lines(sources).items():
                page.add_view(kind, lines)
            page.add_view("study", studies_of(sources, redact=redact))
            page.finish({**_about(sources, redact=redact), "live": live})
        part.replace(out)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return page.count


def _about(sources: Sources, *, redact: bool) -> dict[str, Any]:
    notes = sources.notes
    return {
        "version": __version__,
        "title": sources.title,
        "sources": sources.names,
        "opens": _OPENS.get(sources.first or "results"),
        "ledgers": [sources.called[path] for path in sources.ledgers],
        "runs": notes.runs,
        "redacted": redact,
        "without_texts": notes.without_texts,
        "without_questions": notes.without_questions,
        "bad_lines": notes.bad_lines,
        "unjudged": notes.unjudged,
    }
