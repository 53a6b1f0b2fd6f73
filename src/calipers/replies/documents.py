"""Finds and parses the JSON documents of a judge's reply, strictly or, if they are damaged, tolerantly.

Depth, size and the number of attempts are bounded. A document that contains anything but JSON with usual slips
(quotes, commas, comments, closing brackets) is broken, and broken documents are not read.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from calipers.replies.names import UNENDED, Rejected
from calipers.replies.text import TOLERANT_LIMIT, is_text_after, is_text_before, judges_turn, strip_fence

_MAX_BRACKETS: Final = 20_000
_MAX_COMMAS: Final = 60_000
_LONG_INTEGER: Final = 18
_MAX_DEPTH: Final = 40
_MOST_DOCUMENTS: Final = 200


EXPLAINING: Final = frozenset(
    {
        "explanation",
        "reason",
        "reasoning",
        "rationale",
        "justification",
        "comment",
        "feedback",
        "why",
        "analysis",
        "thoughts",
        "summary",
    }
)
"""Keys of the judge's own words about a verdict."""


class Pairs(list[tuple[Any, Any]]):
    """A JSON object of a reply as (key, value) pairs, which keep repeated keys."""


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document at ``start`` to ``end`` of a text. ``node`` is None if it is broken.

    ``cut``: the text ends inside it.
    """

    start: int
    end: int
    node: Any
    strict: bool = False
    cut: bool = False


def parse_strict_json(text: str) -> Any:
    """Return the JSON document that a reply is. None if it is no JSON, or has too many brackets or commas."""
    if text.count("{") + text.count("[") > _MAX_BRACKETS or text.count(",") > _MAX_COMMAS:
        return None
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):  # no JSON, or nested too deep to be a verdict
        return None


def pairs_of(node: Any) -> Collection[tuple[Any, Any]]:
    """Return the (key, value) pairs of a JSON object, valid or repaired; no pairs for any other node."""
    if isinstance(node, Pairs):
        return node
    return node.items() if isinstance(node, dict) else ()


def is_list(node: Any) -> bool:
    """Whether a node is a JSON list."""
    return isinstance(node, list) and not isinstance(node, Pairs)


def plain_key(key: object) -> str:
    """Return a JSON key in the form in which keys are compared: lower case, ``_`` between words."""
    return re.sub(r"[\W_]+", "_", str(key)[:80]).strip("_").lower()


def nodes_in_reply(text: str) -> list[Any]:
    """Return the JSON documents of a reply, complete or not, after its reasoning: all of it, or those among words."""
    answer = strip_fence(judges_turn(text) or "")
    whole = parse_strict_json(answer)
    if whole is not None:
        return [whole]
    return [document.node for document in find_documents(answer[-TOLERANT_LIMIT:]) if document.node is not None]


def answer_of(text: str) -> str:
    """Return the judge's answer in a reply that is read whole. Raises Rejected if there is none, or too much of it."""
    answer = judges_turn(text)
    if answer is None:
        raise Rejected(UNENDED, truncated=True)
    body = unescaped(answer.strip())
    if not body or len(body) > TOLERANT_LIMIT:
        raise Rejected("the reply is too long to be read in part" if body else "the reply is empty")
    return body


def unescaped(text: str) -> str:
    """Undo the escaping of a reply whose quotes all have a backslash before them, or are written as HTML."""
    if "&quot;" in text and '"' not in text:
        return html.unescape(text)
    if '\\"' in text and '"' not in text.replace('\\"', ""):
        return text.replace('\\"', '"').replace("\\n", "\n")
    return text


def has_words_around(text: str, documents: Sequence[Document]) -> bool:
    """Whether there are words before, between or after the documents of a reply, an introducing line apart."""
    between = (text[first.end : second.start].strip(" \n,;") for first, second in pairwise(documents))
    return (
        is_text_before(text[: documents[0].start])
        or is_text_after(text[documents[-1].end :])
        or any(map(is_text_after, between))
    )


def find_documents(text: str) -> list[Document]:
    """Return the JSON documents in a text, in order, up to the first that is broken or cut off."""
    documents: list[Document] = []
    at = 0
    while len(documents) < _MOST_DOCUMENTS and (start := _START.search(text, at)):
        document = _document_at(text, start.start())
        documents.append(document)
        if document.node is None or document.cut:
            break
        at = document.end
    return documents


def _document_at(text: str, start: int) -> Document:
    if text.count("{") + text.count("[") <= _MAX_BRACKETS:
        try:
            node, end = _DECODER.raw_decode(text, start)
            return Document(start, end, node, strict=True)
        except (ValueError, RecursionError):
            pass
    reader = _Tolerant(text.translate(_WIDE), start)
    try:
        node = reader.value(0)
    except _BrokenError:
        return Document(start, len(text), None)
    return Document(start, reader.at, node, cut=reader.is_cut)


def _integer(digits: str) -> int | float:
    """Convert digits to an int, or to a float if they are so many that Python would convert them slowly or refuse."""
    return int(digits) if len(digits) <= _LONG_INTEGER else float(digits)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    """Build a dict, or ``Pairs`` if a key repeats, because a dict would silently drop all but the last value."""
    members = dict(pairs)
    return members if len(members) == len(pairs) else Pairs(pairs)


_DECODER: Final = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_int=_integer)
_START: Final = re.compile(
    r"\{(?=\s{0,200}(?:[\"'“”＂{}/#]|[\w.-]{1,60}[\"']?\s{0,9}[:：=]))|\[(?=\s{0,200}[\[{\"'“”＂/#.-]|\s{0,200}\d[\d.]*\s*,)"
)
_WIDE: Final = str.maketrans("＂：，｛｝［］", '":,{}[]')
_BLANK: Final = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_BARE: Final = re.compile(r"[^,;:}\]\n\"'{\[]{1,200}")
_KEY: Final = re.compile(r"[^\s,;:=}\]\"'{\[][^,;:=}\]\n\"'{\[]{0,80}")
_COLON: Final = re.compile(r"\s*(?::|=>|=)")
_QUOTES: Final = {'"': '"', "'": "'", "“": "“”", "”": "“”"}
_NEXT_KEY: Final = r"(?:[\"'“”][^\"'“”\n]{1,80}[\"'“”]|[\w.-]{1,60})\s*(?::|=>)"
_VALUE_ENDS: Final = re.compile(
    rf"\s*(?:[}}\]]|\Z|[,;]\s*(?:[}}\]]|\Z|//|\#|/\*|{_NEXT_KEY})|\s[\"'“”][\w -]{{1,40}}[\"'“”]\s*:|//|/\*)"
)
_ITEM_ENDS: Final = re.compile(r"\s*(?:[\],;}]|\Z)")
_LITERALS: Final = {"true": True, "false": False, "null": None, "none": None}


class _BrokenError(Exception):
    """Raised where a document is no JSON even with usual slips."""


class _Tolerant:
    """Reads one damaged JSON document of a text from position ``at`` on. ``is_cut``: the text ended inside it."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.is_cut = False

    def value(self, depth: int, ends: re.Pattern[str] = _ITEM_ENDS) -> Any:
        self._skip()
        mark = self.text[self.at : self.at + 1]
        if depth > _MAX_DEPTH:
            raise _BrokenError
        if mark == "{":
            return self._object(depth)
        if mark == "[":
            return self._list(depth)
        return self._string(ends) if mark in _QUOTES and mark else self._scalar()

    def _skip(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at

    def _closed(self, bracket: str) -> bool:
        """Step over a separator, or over the closing ``bracket``; True if the node ends here."""
        self._skip()
        while self.text[self.at : self.at + 1] in (",", ";"):
            self.at += 1
            self._skip()
        mark = self.text[self.at : self.at + 1]
        if mark == bracket:
            self.at += 1
        elif mark in ("}", "]"):  # the inner bracket is missing, and the outer node ends
            raise _BrokenError
        elif not mark:
            self.is_cut = True
        return mark in ("", bracket)

    def _object(self, depth: int) -> Any:
        self.at += 1
        pairs: list[tuple[Any, Any]] = []
        while not self._closed("}"):
            key = self._key()
            if self.is_cut:
                break
            colon = _COLON.match(self.text, self.at)
            if colon is None:
                raise _BrokenError
            self.at = colon.end()
            value = self.value(depth + 1, _VALUE_ENDS)
            if self.is_cut and value is _CUT:
                break
            pairs.append((key, value))
        return Pairs(pairs)

    def _key(self) -> Any:
        mark = self.text[self.at]
        if mark in _QUOTES:
            key = self._string(_COLON)
            if key is not _CUT and any(char in key for char in '"{}[]\n'):
                raise _BrokenError
            return key
        match = _KEY.match(self.text, self.at)
        if match is None:
            raise _BrokenError
        self.at = match.end()
        return match[0].strip()

    def _list(self, depth: int) -> list[Any]:
        self.at += 1
        items: list[Any] = []
        while not self._closed("]"):
            item = self.value(depth + 1)
            if self.is_cut and item is _CUT:
                break
            items.append(item)
        return items

    def _string(self, ends: re.Pattern[str]) -> Any:
        """Read a string; a quote inside it is part of it unless what follows can only follow a string."""
        closers, start, at = _QUOTES[self.text[self.at]], self.at + 1, self.at + 1
        has_quote = False
        while at < len(self.text):
            mark = self.text[at]
            if mark == "\\":
                at += 1
            elif mark in closers and ends.match(self.text, at + 1):
                self.at = at + 1
                raw = self.text[start:at]
                if has_quote and ("{" in raw or "}" in raw):  # it may have swallowed other rows
                    raise _BrokenError
                try:
                    return json.loads(f'"{raw}"', strict=False)
                except ValueError:
                    return raw
            else:
                has_quote |= mark in closers
            at += 1
        self.at, self.is_cut = len(self.text), True
        return _CUT

    def _scalar(self) -> Any:
        match = _BARE.match(self.text, self.at)
        if match is None and self.at < len(self.text):
            raise _BrokenError
        self.at = match.end() if match else self.at
        if match is None or self.at == len(self.text):
            self.is_cut = True
            return _CUT
        word = re.split(r"//|#|/\*", match[0])[0].strip()
        if word.lower() in _LITERALS:
            return _LITERALS[word.lower()]
        try:
            return _DECODER.decode(word)
        except ValueError:
            return word


_CUT: Final = object()
"""Stands for a value at which the text ended."""
