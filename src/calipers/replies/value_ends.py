"""Decides where a value of damaged JSON ends, according to the text around a quote, comma or bracket.

A quote inside a string may be unescaped, and the quote that closes a string may be lost. ``tolerant`` reads the
document and passes its open objects and lists as ``stack``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calipers.replies.strictjson import Items
from calipers.replies.tokens import (
    BLANK,
    CLOSERS,
    KEY_BARE,
    KEY_EXACT,
    KEY_KNOWN,
    KEY_KNOWN_BARE,
    KEY_LOOSE,
    KEY_NO_COLON,
    KEY_QUOTED,
    QUOTES,
    SPACE,
    after_blanks,
    is_comment,
)


def quote_ends_value(text: str, at: int, stack: Sequence[Any]) -> bool:
    """Whether the quote at ``at`` closes its string in damaged JSON to extract, according to the text after it."""
    after = after_blanks(text, at + 1)
    char = text[after : after + 1]
    if not char or char == "`" or text.startswith(("//", "/*"), after):
        return True
    if char in "}]｝］":
        return _closers_fit(text, after, len(stack))
    if char in ",，;；":
        return _separator_fits(text, after_blanks(text, after + 1), in_list=isinstance(stack[-1], Items))
    if char in QUOTES:
        return _quote_fits(text, at, after, in_list=isinstance(stack[-1], Items))
    return bool(KEY_KNOWN_BARE.match(text, after)) or (char == "#" and "\n" in text[at:after])


def _separator_fits(text: str, after: int, *, in_list: bool) -> bool:
    """Whether the text from position ``after``, right after a comma, continues the object or list."""
    char = text[after : after + 1]
    if not char or char in "{[}]｛｝":
        return True
    if in_list:
        return char in QUOTES or char.isdigit()
    return is_comment(text, after) or any(key.match(text, after) for key in (KEY_EXACT, KEY_LOOSE, KEY_KNOWN))


def _quote_fits(text: str, at: int, after: int, *, in_list: bool) -> bool:
    """Whether the quote at ``after`` opens the next key or value, which means that only a comma was lost."""
    if in_list:
        return True
    doubled = after == at + 1 and text[after] == text[at]
    return not doubled and any(key.match(text, after) for key in (KEY_QUOTED, KEY_NO_COLON))


def _closers_fit(text: str, after: int, depth: int) -> bool:
    """Whether the closing brackets at position ``after`` belong to the JSON and not to a string: they close all
    ``depth`` open objects and lists, end the line or the reply, or have JSON after them.
    """
    run = CLOSERS.match(text, after)
    if run is None:
        return False
    closed = sum(char in "}]｝］" for char in run[0])
    end = run.end()
    if closed >= depth or end >= len(text) or "\n" in run[0]:
        return True
    if text[end] in ",，;；":
        space = SPACE.match(text, end)
        end = space.end() if space else end + 1
        if end >= len(text) or text[end] in "{[｛}]." or text[end] in QUOTES or is_comment(text, end):
            return True
        return any(pattern.match(text, end) for pattern in (KEY_EXACT, KEY_KNOWN, KEY_BARE))
    return text[end] in "{[｛`</#" or bool(KEY_EXACT.match(text, end))


def next_key_follows(text: str, at: int, start: int) -> bool:
    """Whether a string of damaged JSON to extract lost its closing quote and the quote at ``at`` opens the next key."""
    before = text[max(start, at - 40) : at]
    if not before.endswith((" ", ",", "\n", "\t")):
        return False
    if KEY_KNOWN.match(text, at):
        return True
    return before.rstrip().endswith(",") and KEY_EXACT.match(text, at) is not None


def bare_value_end(text: str, at: int, stack: Sequence[Any]) -> int | None:
    """Return where extraction goes on if the character at ``at`` ends an unquoted JSON scalar of a reply, else None."""
    char = text[at]
    if char in "}]｝］{[｛［":
        return at
    if char in "/#":
        return at if is_comment(text, at) else None
    if char in QUOTES:
        opens_key = KEY_QUOTED.match(text, at) or KEY_KNOWN.match(text, at)
        stray = not opens_key and quote_ends_value(text, at, stack)
        return at if opens_key else at + 1 if stray else None
    return at if _separates(text, at, in_list=isinstance(stack[-1], Items)) else None


def _separates(text: str, at: int, *, in_list: bool) -> bool:
    """Whether the comma, semicolon or line end at ``at`` ends an unquoted scalar."""
    char = text[at]
    blank = (BLANK if char == "\n" else SPACE).match(text, at + 1)
    after = blank.end() if blank else at + 1
    following = text[after : after + 1]
    if char == "\n":
        gap = "\n" in text[at + 1 : after]  # after a blank line, a bare word and a colon are prose
        ends = "}],`{[" + QUOTES
    else:
        if in_list:
            return True
        gap = False
        ends = "{[}]" + QUOTES
    if not following:
        return False  # the reply may go on after "0,", as in 0,85
    if following in ends or is_comment(text, after) or (char != "\n" and text.startswith("...", after)):
        return True
    return not gap and KEY_LOOSE.match(text, after) is not None
