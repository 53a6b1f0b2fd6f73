"""Selects the part of a judge's reply that is read: after its reasoning, inside a fence, within a maximal size.

No function here knows what a verdict looks like. None raises because of a text, and each takes time linear in the
text's length.
"""

from __future__ import annotations

import json
import re
from typing import Final

from calipers.errors import ConfigError
from calipers.replies.strictjson import parse_strict_json

TOLERANT_LIMIT = 65_536
"""At most this many characters of a reply are read tolerantly, so that a hostile reply stays cheap to read."""

_TAGS = ("think", "thinking", "reasoning", "thought", "thoughts", "reflection", "analysis", "scratchpad", "seed:think")
_OPENERS = (
    *(f"<{tag}" for tag in _TAGS),
    "[think]", "[reasoning]", "◁think▷", "<|begin_of_thought|>", "<|start_thinking|>", "<｜begin▁of▁thinking｜>",
    "<|channel>thought",
)  # fmt: skip
_CLOSERS = (
    *(f"</{tag}>" for tag in _TAGS),
    "[/think]", "[/reasoning]", "◁/think▷", "<|/think|>", "<|end_of_thought|>", "<|end_thinking|>",
    "<｜end▁of▁thinking｜>", "<channel|>",
)  # fmt: skip
_HINTS = ("think", "reason", "thought", "reflection", "analysis", "scratchpad", "channel")
"""Each tag contains one of these words, which are faster to search for than all tags."""
_MENTION = frozenset("`'\"“”‘’")
_FINAL = re.compile(r"<\|channel\|>\s{0,8}final\b[^<>\n]{0,40}(?:<\|constrain\|>[^<>\n]{0,40})?<\|message\|>")
_TURN_END = re.compile(r"<\|(?:end|return|start|call|im_end|eot_id|endoftext)\|>")
_BARE_HARMONY = re.compile(r"\s*analysis(?=[A-Z])")
_DOCUMENT_START = re.compile(r"[\[{](?=\s{0,64}[\"\[{])")
_FENCE = re.compile(r"(`{3,8}|~{3,8})[ \t]{0,8}[A-Za-z0-9_+-]{0,20}[ \t]{0,8}(?=[\s\[{(\"'])")
_DECODER = json.JSONDecoder(strict=False)
_DOCUMENT_REPLY = re.compile(r"\s{0,100}(?:```\w{0,10}\s{0,100})?[{\[]\s{0,100}[\"'{\[}]")
_MASK_TRIES = 32


def end_of_reply(text: str, limit: int = TOLERANT_LIMIT) -> str:
    """Extract the last ``limit`` characters of a reply, because the verdict is at the end."""
    return text if len(text) <= limit else text[len(text) - limit :]


def strip_reasoning(text: str) -> str | None:
    """Extract the reply after its reasoning, or None if the reasoning never ends and there is no answer.

    Everything up to the last closing tag is removed. Of output in the harmony format, only the ``final`` channel stays.
    A tag is content if it is quoted, or if it is inside a JSON document in which a judge quotes a candidate.
    """
    if "<|channel|>" in text and _last(text, ("<|channel|>",), _documents(text))[1]:
        return _harmony(text)
    if _BARE_HARMONY.match(text):  # the server stripped the special tokens: analysis...assistantfinal...
        _head, mark, tail = text.rpartition("assistantfinal")
        return tail if mark else None
    if "<" not in text and "[" not in text and "◁" not in text:
        return text
    lowered = text.lower()
    if len(lowered) != len(text):  # lower-casing a dotted capital I makes the text longer, so positions would shift
        lowered = text
    if not any(word in lowered for word in _HINTS) or not any(mark in lowered for mark in _OPENERS + _CLOSERS):
        return text
    spans = _documents(text)
    opened, _ = _last(lowered, _OPENERS, spans)
    _, end = _last(lowered, _CLOSERS, spans)
    if opened >= end:
        return None
    # A reply that begins with a JSON document and has no opening tag has no reasoning: the document quotes the closing
    # tag.
    return text if _DOCUMENT_REPLY.match(text) else text[end:]


def strip_fence(text: str) -> str:
    """Remove surrounding white space and one Markdown fence around the whole reply before extraction."""
    text = text.strip()
    if text[:3] not in ("```", "~~~"):
        return text
    found = _FENCE.match(text)
    if found is None:
        return text
    body = text[found.end() :].removesuffix(found[1]).strip()
    return text if found[1] in body else body


def _harmony(text: str) -> str | None:
    finals = list(_FINAL.finditer(text))
    if not finals:
        return None
    tail = text[finals[-1].end() :]
    end = _TURN_END.search(tail)
    return tail if end is None else tail[: end.start()]


def _last(lowered: str, marks: tuple[str, ...], spans: list[tuple[int, int]]) -> tuple[int, int]:
    """Return where the last tag among ``marks`` starts and ends, or (-1, 0) if there is none."""
    best = (-1, 0)
    for mark in marks:
        at = len(lowered)
        for _ in range(_MASK_TRIES):
            at = lowered.rfind(mark, best[1], at)
            if at < 0:
                break
            end = at + len(mark)
            if _is_tag(lowered, at, end) and not any(start < at < stop for start, stop in spans):
                best = (at, end)
                break
    return best


def _is_tag(text: str, at: int, end: int) -> bool:
    """Whether a mark is a complete tag (``<think`` also begins ``<thinking``) and is not quoted."""
    closed = text[end - 1] in ">]▷" or (text[end - 7 : end] == "thought" and text[end - 8] == ">")
    if not closed:
        after = text.find(">", end, end + 64)
        if (after < 0 and end < len(text)) or text[end : end + 1].isalnum():
            return False
        end = after + 1 if after >= 0 else end
    return not (at and text[at - 1] in _MENTION and text[end : end + 1] in _MENTION and end < len(text))


def _documents(text: str) -> list[tuple[int, int]]:
    """Return the spans of strict JSON documents in a reply, outermost first. The number of attempts is bounded."""
    spans = []
    at, tries = 0, 0
    while tries < _MASK_TRIES and (found := _DOCUMENT_START.search(text, at)):
        tries += 1
        at = found.start() + 1
        try:
            _, end = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):  # not JSON, or nested too deep to be a verdict
            continue
        spans.append((found.start(), end))
        at = end
    return spans


# --- replies of megabytes --- -----------------------------------------------------------------------------------------

LIMIT: Final = 1_048_576
"""A reply of at most this many characters stays unchanged, and strict JSON of at most this length is read."""
_KEPT: Final = (8_000, 1_000, 0)
"""Limits to which a document's long strings are cut, tried in this order until the document is short enough.

A string that contains a score has a hundred characters at most, so no shortened string is a score.
"""
_LONG: Final = 60
"""A string of at most this length, such as an id, a number or a word, is never cut."""
_MOST_TEXTS: Final = 120_000
"""A document with more strings than this is not shortened. Strict readers accept fewer strings."""
_TEXT: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A string; an unclosed string matches to the end, because retrying at each quote takes quadratic time."""
_SPACES: Final = re.compile(r"\s{64,}+")
_SAFE: Final = re.compile(
    r'"(?:[^"\\]|\\(?:[^u]|u[dD][89abAB]..\\u[dD][c-fC-F]..|u(?![dD][89abAB])[0-9a-fA-F]{4}))*', re.DOTALL
)
"""The beginning of a string, up to a position that does not split an escape sequence."""


def reply_text(text: str | None) -> str:
    """Return the text of a reply, "" for None. Raises ConfigError for anything else, such as bytes."""
    if isinstance(text, str):
        return text
    if text is None:
        return ""
    raise ConfigError(f"text must be a reply's text, or None, and not {type(text).__name__}: decode bytes first")


def condense_reply(text: str) -> str:
    """Return a reply of at most 1 MB unchanged, for a longer one a shorter text from which the same is extracted."""
    if len(text) <= LIMIT:
        return text
    text = text.strip()
    document = text if len(text) <= LIMIT else _short_document(text)
    if document is not None:
        return document
    answer = strip_reasoning(text)
    if answer is None:
        return f"<think>{_last_part(text)}"
    before = "" if len(answer) == len(text) else f"<think>{_gap(len(text) - len(answer))}</think>"
    document = answer if len(answer) <= LIMIT else _short_document(answer)
    return before + (_last_part(answer) if document is None else document)


def _last_part(text: str) -> str:
    """Return the end of a long reply, still longer than tolerant readers accept, so that they know it was cut."""
    kept = 2 * TOLERANT_LIMIT
    return _gap(len(text) - kept) + text[-kept:]


def _gap(count: int) -> str:
    return f"… {count:,} characters left out …\n"


def _short_document(text: str) -> str | None:
    """Shorten the long strings of a reply that is one JSON document, fenced or not. Return None for any other reply."""
    body = strip_fence(text)
    if body[:1] not in ("{", "["):
        return None
    for kept in _KEPT:
        short = _with_short_texts(body, kept)
        if short is None:
            return None
        if len(short) <= LIMIT:
            return short if isinstance(parse_strict_json(short), dict | list) else None
    return None


def _with_short_texts(body: str, kept: int) -> str | None:
    """Return a JSON document with its long strings shortened, or None if it has too many strings."""
    pieces: list[str] = []
    at = 0
    for number, found in enumerate(_TEXT.finditer(body)):
        if number == _MOST_TEXTS:
            return None
        start, end = found.span()
        pieces.append(_spaced(body, at, start))
        if end - start <= max(kept, _LONG) + 2:
            pieces.append(body[start:end])
        else:
            begun = _SAFE.match(body, start, start + 1 + kept)
            assert begun is not None  # noqa: S101 - it begins with the quote that was found
            pieces.append(f'{begun[0]}…"')  # the mark is no number, which could be taken for a score
        at = end
    pieces.append(_spaced(body, at, len(body)))
    return "".join(pieces)


def _spaced(body: str, start: int, end: int) -> str:
    """Return the text between two strings. Endless white space in it, which some models write, is shortened."""
    between = body[start:end]
    return between if end - start < LIMIT // 1024 else _SPACES.sub(" ", between)
