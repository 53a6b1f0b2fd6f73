"""Writes a report's page as a stream: memory holds one chunk of groups at a time, however many there are.

The page holds two kinds of data blocks, compressed JSON in base64: *details*, a few groups each, which the page unpacks
when one of them is looked at, and *rows* of the index, which it unpacks when it opens. No text from a file gets into
the page in any other form, so none is ever parsed as HTML. The sources of the page in ``page/`` are ES modules, joined
into one inline script; the page's policy allows this script and this style by their hashes and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO, Final

from calipers._version import __version__
from calipers.errors import ConfigError
from calipers.report.details import details_of, index_row
from calipers.report.judges import calibration_of, health_of
from calipers.report.recorded import Tally
from calipers.report.sources import Sources
from calipers.types.encoding import to_json

MODULES: Final = (
    "elements", "numbers", "text", "data", "search", "messages", "ranking", "candidates",
    "questions", "group", "list", "groups", "judge", "main",
)  # fmt: skip
"""The page's modules; each imports only from those before it."""
_STYLES: Final = ("base", "frame", "group", "text", "judge")
_IMPORT: Final = re.compile(r"^import \{[^}]*\} from \"\.{1,2}/[\w/.]+\.js\";\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?function|const|class|let)", re.MULTILINE)
_CHUNK: Final = 192 * 1024
"""Bytes of JSON after which a block of details is complete: small enough to unpack in a few milliseconds."""
_ROWS: Final = 1000
_LEVEL: Final = 6


class Page:
    """Writes the page to ``stream``: ``add`` each group's row and details, then ``finish``."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._details: list[bytes] = []
        self._size = 0
        self._chunks = 0
        self._rows: list[bytes] = []
        self.count = 0
        stream.write(page_head().encode())

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

    def finish(self, about: Mapping[str, Any], judges: Sequence[Mapping[str, Any]]) -> None:
        """Write what is left, what the page says ``about`` itself and of ``judges``, and the script that shows it."""
        self._write_details()
        self._write_rows()
        if judges:
            self._write_block("judge", b"\n".join(to_json(judge, lone="replace") for judge in judges))
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
        packed = base64.b64encode(zlib.compress(data, _LEVEL))
        self._stream.write(b'<script type="application/x-calipers-%b">%b</script>\n' % (kind.encode(), packed))


def write_report(sources: Sources, out: Path) -> int:
    """Write the page that shows ``sources`` to ``out``, and return its number of groups.

    ``out`` is replaced when the page is complete, so a failure, or sources that show nothing, leave an older page as it
    was. Raises ConfigError if it
    cannot be written, and what reading ``sources`` raises.
    """
    part = out.with_name(f"{out.name}.part")
    calibrations = [calibration_of(path) | {"source": sources.called[path]} for path in sources.calibrations]
    tallies: dict[int, tuple[Tally, list[str]]] = {}
    try:
        with part.open("wb") as stream:
            page = Page(stream)
            for judged in sources:
                detail = details_of(judged)
                page.add(index_row(detail), detail)
                tally, judges = tallies.setdefault(judged.source, (Tally(), []))
                tally.add(judged)
                judges += judged.judges[len(judges) :]
            health = [health_of(tally, sources.names[source], judges) for source, (tally, judges) in tallies.items()]
            page.finish(_about(sources), [*calibrations, *health])
        if page.count or calibrations:
            part.replace(out)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return page.count


def _about(sources: Sources) -> dict[str, Any]:
    notes = sources.notes
    return {
        "version": __version__,
        "title": sources.title,
        "sources": sources.names,
        "opens": sources.opens,
        "runs": notes.runs,
        "without_texts": notes.without_texts,
        "without_questions": notes.without_questions,
        "bad_lines": notes.bad_lines,
        "unjudged": notes.unjudged,
    }


def page_file(name: str) -> str:
    """Return the text of a file of the page, such as ``"main.js"``."""
    return files("calipers.report").joinpath("page", name).read_text(encoding="utf-8")


@cache
def page_script() -> str:
    """Return the page's whole script: all modules without their imports and exports."""
    return joined_modules(page_file(f"{name}.js") for name in MODULES)


def joined_modules(sources: Iterable[str]) -> str:
    """Return the modules of a page as one script, without their imports and exports."""
    return "".join(_EXPORT.sub("", _IMPORT.sub("", source)) for source in sources)


@cache
def page_head() -> str:
    """Return the beginning of the page, up to where its data begin: policy, style and an empty body."""
    style = "".join(page_file(f"{name}.css") for name in _STYLES)
    policy = policy_for(page_script(), style)
    return page_file("head.html").replace("@POLICY@", policy).replace("@STYLE@", style)


def policy_for(script: str, style: str, *, connects: bool = False) -> str:
    """Return the content security policy of a page that has this script and this style, and nothing else.

    A page that ``connects`` may ask the server that it came from.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "img-src data:",
            *(["connect-src 'self'"] if connects else []),
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
