"""Reads damaged JSON from a judge's reply in one pass, without inventing content.

It repairs what models get wrong: quotes, commas, brackets, comments, bare keys. Unlike a general repairer it keeps
damage visible: scalars at which the text ended are ``CUT``, all pairs of a repeated key are returned, bare scalars stay
text, and stray words between values set ``garbled``, which callers treat as doubt. ``verdicts`` reads what the values
mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calipers.replies.strictjson import CUT, Items, Pairs
from calipers.replies.tokens import (
    BARE_STOP,
    CLOSING,
    FENCE_END,
    KEY_EXACT,
    KEY_KNOWN,
    KEY_LOOSE,
    KEY_NO_COLON,
    LITERALS,
    NEXT_ROW,
    NUMBER,
    QUOTES,
    SPACE,
    STRUCTURAL,
    UNCLOSED_NUMBER,
    after_blanks,
    is_balanced,
    number_of_literal,
    unescape_string,
)
from calipers.replies.value_ends import bare_value_end, next_key_follows, quote_ends_value

MAX_DEPTH = 64
_MAX_NODES = 5_000
_MAX_GARBAGE = 12
_MAX_SWALLOWED = 200
_BARE_LIMIT = 400


@dataclass(frozen=True, slots=True)
class Parsed:
    """A JSON document repaired from a reply.

    ``closed``: its last bracket is there. ``cut``: the text ends inside it. ``garbled``: it has words out of place.
    """

    node: Any
    end: int
    closed: bool
    cut: bool
    garbled: bool
    work: int


@dataclass(frozen=True, slots=True)
class Unparsed:
    """Text of a reply that is no JSON document, or is too damaged to read. ``end`` is where to search on."""

    end: int
    work: int


def parse_damaged_json(text: str, start: int) -> Parsed | Unparsed:
    """Extract the possibly damaged JSON document of a reply whose opening bracket is at ``start``."""
    reader = _Reader(text, start)
    if reader.run():
        return reader.result()
    return Unparsed(reader.at if len(reader.stack) >= MAX_DEPTH else start + 1, reader.nodes)


class _Reader:
    """Reads one damaged JSON document in one pass; ``at`` only moves forward."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self.root: Any = None
        self.stack: list[Any] = []
        self.keys: list[str | None] = []
        self.nodes = 0
        self.garbage = 0
        self.mismatched = 0
        self.garbled = False
        self.cut = False
        self.done = False

    def result(self) -> Parsed:
        closed = bool(self.root.closed)
        garbled = self.garbled or (self.mismatched > 0 and self.garbage > 0)
        return Parsed(self.root, self.at, closed, self.cut, garbled, self.nodes)

    def run(self) -> bool:
        text, size = self.text, len(self.text)
        while not self.done:
            self.nodes += 1
            if self.nodes > _MAX_NODES or self.garbage > _MAX_GARBAGE:
                return False
            if not self._skip():
                return False
            if self.at >= size:
                self.cut = True
                return True
            if not self._step(text[self.at]):
                return False
        return True

    def _step(self, char: str) -> bool:
        """Read the token at the current position. Return False if brackets are nested too deep."""
        if char in "{[｛［":
            if len(self.stack) >= MAX_DEPTH:
                return False
            self._open(Pairs() if char in "{｛" else Items())
        elif char in "}｝":
            self._close_object()
        elif char in "]］":
            self._close_list()
        elif FENCE_END.match(self.text, self.at):
            self.done = True
        elif isinstance(self.stack[-1], Pairs) and self.keys[-1] is None:
            self._key()
        else:
            self._value()
        return True

    # --- space and structure ---

    def _skip(self) -> bool:
        """Skip blanks, separators, ellipses and comments. Return False if a comment never ends."""
        text = self.text
        while True:
            space = SPACE.match(text, self.at)
            if space:
                self.at = space.end()
            two = text[self.at : self.at + 2]
            if two == "//" or (two[:1] == "#" and self.stack):
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif two == "/*":
                end = text.find("*/", self.at, self.at + 1000)
                if end < 0:
                    return False
                self.at = end + 2
            elif two == "..":
                self.at += 3 if text[self.at : self.at + 3] == "..." else 2
            elif two[:1] == "…":
                self.at += 1
            elif space is None:
                return True

    def _open(self, node: Any) -> None:
        if self.root is None:
            self.root = node
        else:
            self._put(node)
        self.stack.append(node)
        self.keys.append(None)
        self.at += 1

    def _put(self, value: Any) -> None:
        top = self.stack[-1]
        if isinstance(top, Pairs):
            top.append((self.keys[-1], value))
            self.keys[-1] = None
        else:
            top.append(value)

    def _pop(self) -> None:
        node = self.stack.pop()
        self.keys.pop()
        node.closed = True
        self.done = not self.stack

    def _close_object(self) -> None:
        self.at += 1
        if isinstance(self.stack[-1], Pairs):
            # A bracket may be doubled although only the inner object was open: {"a": {...}}, "b": ...
            if len(self.stack) == 1 and self._continues("key"):
                return
            self._pop()
        elif self._continues("element"):
            self.mismatched += 1
        elif any(isinstance(node, Pairs) for node in self.stack):
            self.mismatched += 1
            while not isinstance(self.stack[-1], Pairs):
                self._pop()
            self._pop()

    def _close_list(self) -> None:
        self.at += 1
        if isinstance(self.stack[-1], Items):
            if len(self.stack) == 1 and self._continues("element"):
                return
            self._pop()
        elif any(isinstance(node, Items) for node in self.stack):
            self.mismatched += 1
            while not isinstance(self.stack[-1], Items):
                self._pop()
            self._pop()

    def _continues(self, what: str) -> bool:
        """Whether the same object or list plainly continues after a surplus closing bracket."""
        after = after_blanks(self.text, self.at)
        if self.text[after : after + 1] not in (",", "，"):
            return False
        after = after_blanks(self.text, after + 1)
        if what == "element":
            return self.text[after : after + 1] == "{"
        return KEY_EXACT.match(self.text, after) is not None

    # --- keys ---

    def _key(self) -> None:
        text, at = self.text, self.at
        for pattern in (KEY_EXACT, KEY_LOOSE, KEY_NO_COLON):
            found = pattern.match(text, at)
            if found:
                self.keys[-1] = next((group for group in found.groups() if group is not None), "").strip()
                self.at = found.end()
                return
        if text[at] in QUOTES and self._key_is_cut(at):
            self.at = len(text)
            return
        self._rubbish()

    def _key_is_cut(self, at: int) -> bool:
        rest = self.text[at + 1 : at + 130]
        return len(rest) < 129 and not STRUCTURAL.search(rest.rstrip().rstrip(QUOTES + ":"))

    def _rubbish(self) -> None:
        """Handle text in a place where no text belongs: the end of the document, a slip of one or two characters, or
        words.

        Such words mark the document as garbled.
        """
        found = STRUCTURAL.search(self.text, self.at + 1)
        if found is None:
            self.done = True  # only prose follows, so closing brackets are missing
            self.cut = self.at >= len(self.text)
            return
        self.garbage += 1
        stray = self.text[self.at : found.start()].strip(" \t\r\n,;:")
        if len(stray) > 2 or any(char.isalnum() and char.isnumeric() for char in stray):
            self.garbled = True
        self.at = found.start()

    # --- values ---

    def _value(self) -> None:
        char = self.text[self.at]
        if char in ":：=>)(" and isinstance(self.stack[-1], Pairs):
            self.at += 1
            return
        if char in QUOTES:
            if isinstance(self.stack[-1], Items) and KEY_KNOWN.match(self.text, self.at):
                self.stack.append(implied := Pairs())  # the row's opening bracket was lost
                self.stack[-2].append(implied)
                self.keys.append(None)
                return
            self._string(char)
        else:
            self._bare()

    def _string(self, mark: str) -> None:
        text, start = self.text, self.at + 1
        if text[start : start + 1] == mark and not quote_ends_value(text, start, self.stack):
            start += 1  # the opening quote was doubled
        number = UNCLOSED_NUMBER.match(text, start)
        if number:
            self._put(number[0].strip())
            self.at = number.end()
            return
        search: Callable[[str, int], re.Match[str] | None] = CLOSING[mark].search
        at, swallowed = start, False
        for _ in range(_MAX_SWALLOWED):
            found = search(text, at)
            if found is None:
                break
            at = found.start()
            if text[at] == "\\":
                at += 2
            elif quote_ends_value(text, at, self.stack):
                self._put_string(text[start:at], swallowed=swallowed)
                self.at = at + 1
                return
            elif next_key_follows(text, at, start):
                self._put_string(text[start:at].rstrip(" \t\r\n,"), swallowed=swallowed)
                self.at = at
                return
            else:
                at += 1
                swallowed = True
        else:
            self.garbage += _MAX_GARBAGE + 1  # too many loose quotes to distinguish text from structure
            return
        self._put(CUT)
        self.at = len(text)

    def _put_string(self, raw: str, *, swallowed: bool) -> None:
        """Record a string. If it contains JSON structure with unbalanced brackets, its closing quote was missed."""
        if not is_balanced(raw) and (swallowed or NEXT_ROW.search(raw)):
            self.garbled = True
        self._put(unescape_string(raw))

    def _bare(self) -> None:
        text, start = self.text, self.at
        number = NUMBER.match(text, start)
        if number:
            self._put(number_of_literal(number[0]))
            self.at = number.end()
            return
        at = start
        limit = start + _BARE_LIMIT
        while (found := BARE_STOP.search(text, at, limit)) is not None:
            at = found.start()
            stop = bare_value_end(text, at, self.stack)
            if stop is not None:
                lost_quote = at < stop and text[at] in QUOTES and any(map(str.isalpha, text[start:at]))
                # Without its opening quote, the scalar may lack its beginning too.
                self._put_bare(f"…{text[start:at]}" if lost_quote else text[start:at])
                self.at = max(stop, start + 1) if at == start else stop
                return
            at += 1
        if limit < len(text):
            self._rubbish()
            return
        self._put(CUT)
        self.at = len(text)

    def _put_bare(self, raw: str) -> None:
        word = raw.strip()
        if not word:
            if isinstance(self.stack[-1], Pairs):
                self._put("")
            return
        among_objects = isinstance(self.stack[-1], Items) and self.stack[-1] and isinstance(self.stack[-1][-1], Pairs)
        if among_objects and len(word) > 2:
            self.garbled = True
        lowered = word.casefold()
        self._put(LITERALS.get(lowered, word))
