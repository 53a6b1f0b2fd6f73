"""Prepares a judge's reply for reading as prose, and splits the reply into sentences.

Reasoning and code blocks are removed, typographic characters become plain, and quotations can be blanked. ``compare``
and ``criteria`` decide what a sentence says. All functions take time linear in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from calipers.replies.rejected import Rejected
from calipers.replies.text import end_of_reply, strip_fence, strip_reasoning
from calipers.replies.wordlists import list_words, regex_of_whole_words

Item = TypeVar("Item")

# Full-width forms, non-breaking spaces and typographic quotes become their plain counterparts. Private-use characters
# become question marks, because ``claims`` uses them to replace references to candidates. Each replacement is one
# character, so positions stay the same.
_PLAIN = {0xFF01 + offset: 0x21 + offset for offset in range(94)}
_PLAIN |= dict.fromkeys((0xA0, 0x2007, 0x202F, 0x3000), 0x20)
_PLAIN |= dict.fromkeys(map(ord, "“”„‟«»「」『』"), ord('"'))
_PLAIN |= dict.fromkeys(map(ord, "‘’‚‛´"), ord("'"))
_PLAIN |= {ord("【"): ord("["), ord("】"): ord("]"), ord("≻"): ord(">"), ord("≫"): ord(">"), ord("\r"): ord("\n")}
_PLAIN |= dict.fromkeys(range(0xE000, 0xE100), ord("?"))

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n", re.MULTILINE)
_END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+|(?<=[。！？；])|\n+")
_QUOTED = re.compile(r'"[^"\n]{1,600}"')
_WORDS = re.compile(r"[\w']+")
_SPECIAL = re.compile(r"<\|[\w ]{1,30}\|>|</?s>|<(?:start|end)_of_turn>|\[/?INST\]")
_RUN = re.compile(r"([^\w])\1{6,}|(_)\2{6,}")
"""Long runs of one blank or punctuation mark. They are shortened because they slow the patterns down."""
_STRICT_LIMIT = 1 << 20
_LIMIT = 24_576
_BESIDE_DOCUMENT = 2_048
_PROSE_LIMIT = 12_288
_MAX_SENTENCES = 400
_LONGEST = 1_000
_SHORT = 80

CONCLUDING, CORRECTING, FINAL, REFUSING = (
    re.compile(regex_of_whole_words(list_words("prose", name)), re.IGNORECASE)
    for name in ("CONCLUDING", "CORRECTING", "FINAL", "REFUSING")
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A judge's reply prepared for reading: its ``text``, and the JSON ``document`` it is or ends with, or None."""

    text: str
    document: Any


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a reply, stripped, with its position. ``closed`` is False if the sentence has no end mark."""

    text: str
    start: int
    closed: bool = True


def prepare_reply(text: str, *, keep: str = "") -> Prepared:
    """Prepare a judge's reply for extraction. Raises Rejected if nothing is left to read.

    Reasoning, one fence around everything and other code blocks are removed. A reply that is one JSON document is read
    whole, up to 1 MB. Of any other reply only the last 24 kB are read, because verdicts are at the end. Characters in
    ``keep`` do not become plain.
    """
    body = strip_reasoning(text)
    if body is None:
        raise Rejected("the reasoning never ended", truncated=True)
    if not body.strip():
        raise Rejected("empty reply")
    document = json_of_text(strip_fence(body)) if len(body) <= _STRICT_LIMIT else None
    nothing_else = document is not None and body.lstrip()[:1] in "{["
    whole = _SPECIAL.sub("\n", end_of_reply(body, _BESIDE_DOCUMENT if nothing_else else _LIMIT))
    document = json_of_code_block(whole) if document is None else document
    inner = strip_fence(whole)
    whole = _RUN.sub(
        lambda run: run[0][:6],
        plain_punctuation(inner if inner != whole.strip() else without_code_blocks(whole), keep=keep),
    )
    if not whole.strip():
        raise Rejected("the reply has only code blocks")
    return Prepared(whole, document)


def plain_punctuation(text: str, *, keep: str = "") -> str:
    """Replace typographic characters one for one by plain ones before extraction, except those in ``keep``."""
    return text.translate({code: to for code, to in _PLAIN.items() if chr(code) not in keep} if keep else _PLAIN)


def split_sentences(text: str) -> list[Sentence]:
    """Extract sentences and lines from the last 12 kB of a reply. Without an end mark, the last one is not closed.

    Of more than 400 sentences, the first 20 and the last 380 are returned. Very long sentences are split into pieces.
    """
    begin = max(0, len(text) - _PROSE_LIMIT)
    found: list[Sentence] = []
    for match in _END.finditer(text, begin):
        found += _pieces(text[begin : match.start()], begin, closed=True)
        begin = match.end()
    tail = text[begin:]
    found += _pieces(tail, begin, closed=tail.rstrip().rstrip("\"')]*_}`").endswith((".", "!", "?", "。", "！", "？")))
    return found if len(found) <= _MAX_SENTENCES else found[:20] + found[20 - _MAX_SENTENCES :]


def _pieces(piece: str, start: int, *, closed: bool) -> Iterator[Sentence]:
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    for at in range(0, len(piece), _LONGEST):
        yield Sentence(piece[at : at + _LONGEST], start + at, closed)


def both_ends(items: Sequence[Item], most: int) -> list[Item]:
    """Return the first ``most`` and the last ``most`` of a reply's sentences or lines, each once, in order."""
    return [*items[:most], *items[most:][-most:]]


def without_code_blocks(text: str) -> str:
    """Remove code blocks before extraction, except a last one of a few words. An unclosed one reaches to the end."""
    marks = list(_FENCE.finditer(text if text.endswith("\n") else text + "\n"))
    pieces, at = [], 0
    for index in range(0, len(marks), 2):
        pieces.append(text[at : marks[index].start()])
        closed = index + 1 < len(marks)
        at = marks[index + 1].end() if closed else len(text)
        inner = text[marks[index].end() : marks[index + 1].start()] if closed else ""
        if len(inner) <= _SHORT and not text[at:].strip():
            pieces.append(inner)
    return "\n".join([*pieces, text[at:]])


def blank_quotations(sentence: str, *, most: int = 3) -> str:
    """Blank a sentence's quotations of more than ``most`` words before extraction: they are somebody else's words."""

    def blank(match: re.Match[str]) -> str:
        return " " * len(match[0]) if len(_WORDS.findall(match[0])) > most else match[0].replace('"', " ")

    return _QUOTED.sub(blank, sentence) if '"' in sentence else sentence


def json_of_text(text: str) -> Any:
    """Extract the JSON document that a reply is or ends with. None if there is none, or if words follow it."""
    body = text.rstrip("`~ \n")
    if not body.endswith(("}", "]")):
        return {"true": True, "false": False}.get(body.lower())
    for begin in (0, body.find("{"), body.rfind("{")):
        if begin < 0 or body[begin] not in "{[":
            continue
        try:
            return json.loads(body[begin:])
        except (ValueError, RecursionError):
            continue  # no JSON begins here, so marks are read instead
    return None


def json_of_code_block(text: str) -> Any:
    """Extract the JSON object from a code block that a reply begins or ends with, or None."""
    marks = list(_FENCE.finditer(text + "\n"))
    if len(marks) != 2 or (text[: marks[0].start()].strip() and text[marks[1].end() :].strip()):
        return None
    inner = text[marks[0].end() : marks[1].start()].strip()
    return json_of_text(inner) if inner.startswith("{") else None


def before_next_example(text: str) -> str:
    """Return the reply up to where the judge starts to invent another example in the form of its prompt.

    A reply that begins with such an example is returned whole.
    """
    candidates = [match.start() for match in _NEXT_CANDIDATE.finditer(text)]
    last = candidates[-1] if candidates else None
    for match in _NEXT_EXAMPLE.finditer(text):
        if (match["turn"] or (last is not None and match.end() <= last)) and text[: match.start()].strip():
            return text[: match.start()]
    return text


_NEXT_EXAMPLE = re.compile(
    r"^[# \t*\[]{0,8}(?:(?P<turn>user|human)"
    r"|instruction|question|user question|input|prompt|example \d{1,3}|task|context|query)"
    r"[\]* \t]{0,4}:",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT_CANDIDATE = re.compile(
    r"^[# \t*\[]{0,8}(?:the start of )?(?:output|response|assistant|answer|model|summary) ?(?:\(\w\)|[A-Z]|\d)"
    r"(?:'s \w{1,20})?[\]* \t]{0,4}:",
    re.IGNORECASE | re.MULTILINE,
)
