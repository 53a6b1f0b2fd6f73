"""Finds the JSON documents in a judge's reply: valid ones as they are, damaged ones repaired.

``verdicts`` reads what a document says; ``selection`` decides which of several counts.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

from calipers.replies.strictjson import DECODER
from calipers.replies.tolerant import Unparsed, parse_damaged_json

_OPEN = re.compile(r"[{\[｛［]")
_LIKELY = re.compile(
    r"[{｛]\s{0,200}(?:[\"'“”„＂‘’`´{\[}｛｝]|//|/\*|#\s|\.\.\.|…|,|[^\W][\w \-#]{0,40}[\"'”]?\s{0,20}(?:[:：=]|->)|\Z)"
    r"|[\[［]\s{0,200}(?:[\"'“”„＂‘’`´{\[\]｛［\d\-.…]|//|/\*|#\s|,|(?:true|false|null|none|nan)\b"
    r"|(?:trajectory_id|id|score)\s{0,9}[:=]|\Z)",
    re.IGNORECASE,
)
_MAX_DOCUMENTS = 2_000
_MAX_NODES = 6_000
_MAX_RESTARTS = 24
_BACKSLASHED = re.compile(r"\s*\"?[\[{][\s\\ntr{\[]{0,40}\\\"")


@dataclass(frozen=True, slots=True)
class Document:
    """A piece ``text[start:end]`` of a reply that is JSON, or damaged JSON.

    ``closed``: its last bracket is there. ``cut``: the text ends inside it. ``garbled``: it has words out of place.
    """

    node: Any
    start: int
    end: int
    strict: bool = False
    closed: bool = True
    cut: bool = False
    garbled: bool = False


def find_documents(text: str) -> list[Document] | None:
    """Extract all JSON documents from a reply, in order. None if they are too many or too badly damaged to read."""
    found: list[Document] = []
    at, nodes, restarts = 0, 0, 0
    while (opener := _OPEN.search(text, at)) is not None:
        start = opener.start()
        at = start + 1
        if _LIKELY.match(text, start) is None:
            continue
        document, at, work = _document(text, start)
        nodes += work
        restarts += document is None or document.garbled
        if document is not None:
            found.append(document)
        if nodes > _MAX_NODES or restarts > _MAX_RESTARTS or len(found) > _MAX_DOCUMENTS:
            return None
    return found


def unescape_reply(text: str) -> str:
    """Remove HTML escapes or one level of backslashes from a reply whose quotes were all escaped, before extraction."""
    if '"' not in text and ("&quot;" in text or "&#34;" in text or "&#x27;" in text or "&amp;quot;" in text):
        once = html.unescape(text)
        return html.unescape(once) if "&quot;" in once and '"' not in once else once
    if _BACKSLASHED.match(text):
        try:
            once = json.loads(f'"{text.strip()}"', strict=False)
        except ValueError:  # only part of the text is escaped
            return text.replace('\\"', '"').replace("\\n", "\n")
        return str(once)
    return text


def _document(text: str, start: int) -> tuple[Document | None, int, int]:
    """Return the JSON document that opens at ``start``, the position at which to search on, and the work spent."""
    if text[start] in "{[":
        try:
            node, end = DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):  # the document is damaged or nested too deep, so it is read tolerantly
            pass
        else:
            return Document(node, start, end, strict=True), end, 1
    parsed = parse_damaged_json(text, start)
    if isinstance(parsed, Unparsed):
        return None, max(parsed.end, start + 1), parsed.work
    document = Document(
        parsed.node, start, parsed.end, closed=parsed.closed, cut=parsed.cut, garbled=parsed.garbled
    )  # fmt: skip
    return document, start + 1 if parsed.garbled else max(parsed.end, start + 1), parsed.work
