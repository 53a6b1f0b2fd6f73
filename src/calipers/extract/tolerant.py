"""A single-pass reader of damaged JSON that never invents: what it cannot place it marks, and what is cut stays cut.

It mends what models get wrong (quotes, commas, brackets, comments, bare keys) and keeps apart what a repairer would
blur: scalars at which the text ended are ``CUT``, pairs that repeat a key are all kept, bare scalars stay text, and
stray words between values set ``garbled``, which callers take as doubt. Not responsible for what the values mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calipers.extract.strictjson import CUT, Items, Pairs
from calipers.extract.tokens import (
    BARE_STOP,
    BLANK,
    CLOSERS,
    CLOSING,
    FENCE_END,
    KEY_BARE,
    KEY_EXACT,
    KEY_KNOWN,
    KEY_KNOWN_BARE,
    KEY_LOOSE,
    KEY_NO_COLON,
    KEY_QUOTED,
    LITERALS,
    NEXT_ROW,
    NUMBER,
    QUOTES,
    SPACE,
    STRUCTURAL,
    UNCLOSED_NUMBER,
    as_number,
    is_balanced,
    is_comment,
    unescaped,
)

MAX_DEPTH = 64
_MAX_NODES = 5_000
_MAX_GARBAGE = 12
_MAX_SWALLOWED = 200
_BARE_LIMIT = 400


@dataclass(frozen=True, slots=True)
class Parsed:
    """``closed``: its last bracket was there. ``cut``: the text ended inside it. ``garbled``: words out of place."""

    node: Any
    end: int
    closed: bool
    cut: bool
    garbled: bool
    work: int


@dataclass(frozen=True, slots=True)
class Unparsed:
    """What is no document, or too tangled to follow. ``end`` is where to look on."""

    end: int
    work: int


def parse(text: str, start: int) -> Parsed | Unparsed:
    """The document that opens at ``start`` (a bracket)."""
    reader = _Reader(text, start)
    if reader.run():
        return reader.result()
    return Unparsed(reader.at if len(reader.stack) >= MAX_DEPTH else start + 1, reader.nodes)


class _Reader:
    """One pass over one document; ``at`` only moves forward."""

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
        """Take in what starts with ``char``; False where it is nested too deep."""
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
        """Past blanks, separators, ellipses and comments; False where a comment never ends."""
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
            # Doubled: {"a": {...}}, "b": ...  where only the inner object was open.
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
        """Whether, past a closer that is one too many, the same object or list plainly goes on."""
        after = self._blank(self.at)
        if self.text[after : after + 1] not in (",", "，"):
            return False
        after = self._blank(after + 1)
        if what == "element":
            return self.text[after : after + 1] == "{"
        return KEY_EXACT.match(self.text, after) is not None

    def _blank(self, at: int) -> int:
        found = BLANK.match(self.text, at)
        return found.end() if found else at

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
        """Text where none belongs: an end of the document, a slip of a character or two, or doubt."""
        found = STRUCTURAL.search(self.text, self.at + 1)
        if found is None:
            self.done = True  # only prose follows: brackets are missing, and nothing else
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
        if text[start : start + 1] == mark and not self._ends_value(start):
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
            elif self._ends_value(at):
                self._put_string(text[start:at], swallowed=swallowed)
                self.at = at + 1
                return
            elif self._next_key_follows(at, start):
                self._put_string(text[start:at].rstrip(" \t\r\n,"), swallowed=swallowed)
                self.at = at
                return
            else:
                at += 1
                swallowed = True
        else:
            self.garbage += _MAX_GARBAGE + 1  # too many loose quotes to tell text from structure
            return
        self._put(CUT)
        self.at = len(text)

    def _put_string(self, raw: str, *, swallowed: bool) -> None:
        """Structure inside a string with loose quotes is only quoted there if it is whole; else its end was missed."""
        if not is_balanced(raw) and (swallowed or NEXT_ROW.search(raw)):
            self.garbled = True
        self._put(unescaped(raw))

    def _ends_value(self, at: int) -> bool:
        """Whether the quote at ``at`` closes its string, by what follows it."""
        text = self.text
        after = self._blank(at + 1)
        char = text[after : after + 1]
        if not char or char == "`" or text.startswith(("//", "/*"), after):
            return True
        if char in "}]｝］":
            return self._closers_fit(after)
        if char in ",，;；":
            return self._separator_fits(self._blank(after + 1))
        if char in QUOTES:
            return self._quote_fits(at, after)
        return bool(KEY_KNOWN_BARE.match(text, after)) or (char == "#" and "\n" in text[at:after])

    def _separator_fits(self, after: int) -> bool:
        """Whether what stands at ``after``, behind a comma, goes on with the object or list."""
        text = self.text
        char = text[after : after + 1]
        if not char or char in "{[}]｛｝":
            return True
        if isinstance(self.stack[-1], Items):
            return char in QUOTES or char.isdigit()
        return is_comment(text, after) or any(key.match(text, after) for key in (KEY_EXACT, KEY_LOOSE, KEY_KNOWN))

    def _quote_fits(self, at: int, after: int) -> bool:
        """Whether the quote at ``after`` opens what comes next, only a comma being lost."""
        if isinstance(self.stack[-1], Items):
            return True
        doubled = after == at + 1 and self.text[after] == self.text[at]
        return not doubled and any(key.match(self.text, after) for key in (KEY_QUOTED, KEY_NO_COLON))

    def _closers_fit(self, after: int) -> bool:
        text = self.text
        run = CLOSERS.match(text, after)
        if run is None:
            return False
        depth = sum(char in "}]｝］" for char in run[0])
        end = run.end()
        if depth >= len(self.stack) or end >= len(text) or "\n" in run[0]:
            return True
        if text[end] in ",，;；":
            space = SPACE.match(text, end)
            end = space.end() if space else end + 1
            if end >= len(text) or text[end] in "{[｛}]." or text[end] in QUOTES or is_comment(text, end):
                return True
            return any(pattern.match(text, end) for pattern in (KEY_EXACT, KEY_KNOWN, KEY_BARE))
        return text[end] in "{[｛`</#" or bool(KEY_EXACT.match(text, end))

    def _next_key_follows(self, at: int, start: int) -> bool:
        """Whether the closing quote was lost and the quote at ``at`` opens the next key."""
        before = self.text[max(start, at - 40) : at]
        if not before.endswith((" ", ",", "\n", "\t")):
            return False
        if KEY_KNOWN.match(self.text, at):
            return True
        return before.rstrip().endswith(",") and KEY_EXACT.match(self.text, at) is not None

    def _bare(self) -> None:
        text, start = self.text, self.at
        number = NUMBER.match(text, start)
        if number:
            self._put(as_number(number[0]))
            self.at = number.end()
            return
        at = start
        limit = start + _BARE_LIMIT
        while (found := BARE_STOP.search(text, at, limit)) is not None:
            at = found.start()
            stop = self._bare_stops(at)
            if stop is not None:
                lost_quote = at < stop and text[at] in QUOTES and any(map(str.isalpha, text[start:at]))
                self._put_bare(f"…{text[start:at]}" if lost_quote else text[start:at])  # its beginning may be lost too
                self.at = max(stop, start + 1) if at == start else stop
                return
            at += 1
        if limit < len(text):
            self._rubbish()
            return
        self._put(CUT)
        self.at = len(text)

    def _bare_stops(self, at: int) -> int | None:
        """Where to go on when the character at ``at`` ends a bare scalar, else None."""
        text = self.text
        char = text[at]
        if char in "}]｝］{[｛［":
            return at
        if char in "/#":
            return at if is_comment(text, at) else None
        if char in QUOTES:
            opens_key = KEY_QUOTED.match(text, at) or KEY_KNOWN.match(text, at)
            stray = not opens_key and self._ends_value(at)
            return at if opens_key else at + 1 if stray else None
        return at if self._separates(char, at) else None

    def _separates(self, char: str, at: int) -> bool:
        """Whether the comma, semicolon or line end at ``at`` ends a bare scalar."""
        text = self.text
        blank = (BLANK if char == "\n" else SPACE).match(text, at + 1)
        after = blank.end() if blank else at + 1
        following = text[after : after + 1]
        if char == "\n":
            gap = "\n" in text[at + 1 : after]  # past a blank line a bare word and a colon are prose
            ends = "}],`{[" + QUOTES
        else:
            if isinstance(self.stack[-1], Items):
                return True
            gap = False
            ends = "{[}]" + QUOTES
        if not following:
            return False  # "0," may be the start of 0,85
        if following in ends or is_comment(text, after) or (char != "\n" and text.startswith("...", after)):
            return True
        return not gap and KEY_LOOSE.match(text, after) is not None

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
