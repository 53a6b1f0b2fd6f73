"""Search candidates for prompt injection: who addresses the judge, claims a score, or forges a verdict or the layout.

A hit means that a candidate tried, with the stated certainty, and not that the judge obeyed. Fences and canaries
protect; the search is a sign of what a policy learns. ``judging.excluded`` decides the consequence (``on_attack``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any, Final, TypeAlias
from unicodedata import normalize

from calipers.guard.plain import PlainText, has_letters_beyond_ascii, has_long_run, hidden_texts, plain_text, split_name
from calipers.guard.vocabulary import CERTAINTIES, Hit, word_list
from calipers.types import Attack, AttackKind, Certainty, Message, RenderedGroup
from calipers.types.encoding import read_packaged_toml
from calipers.types.steps import Steps, at_once, run_steps

_Known: TypeAlias = dict[str, tuple[Attack, ...]]
"""The attacks found in each text. The message's position and role are filled in later."""

_PIECE: Final = 2**16
_OVERLAP: Final = 2**12
"""Longer texts are searched in pieces of ``_PIECE`` characters, each followed by this many of the next piece."""
_SCREENED: Final = 2**12
"""Texts are screened together up to about this many characters."""
_MOST_READ: Final = 2**14
"""At most this many characters of a piece are read, those at its beginning and its end."""
_BESIDE: Final = 120
"""A stem is read with this many characters on each side."""
_PASSAGE: Final = 1000
"""Passages around neighbouring stems are read together up to about this many characters."""
_AFTER_CERTAIN: Final = 64
"""After a certain attack, this many more sentences of a text are read."""
_EDGE: Final = 200
"""This many characters on each side of a break between two messages are searched as one text."""
_TO_WORDS: Final = bytes(
    code if code > 127 or chr(code).isalnum() or code == ord("/") else 32 for code in bytes(range(256)).lower()
)
"""What each byte of UTF-8 is in text in which stems are looked for: in lower case, and nothing between words."""
_EXCERPT: Final = 120
LONGEST_MASTER_KEY: Final = 80
"""A longer answer is not only an opening phrase (characters)."""
_DEEPEST: Final = 12
_IDS: Final = frozenset({"role", "id", "type", "tool_call_id", "detail", "is_error", "index"})
_SEARCHED: Final = _IDS | {"content"}
_USUAL_KEYS: Final = frozenset(
    {"content", "reasoning", "refusal", "name", "tool_calls", "function", "arguments", "text", "image_url", "url"}
    | {"value"}
    | _IDS
)  # fmt: skip
_LISTS: Final = (list, tuple)  # asked for before mappings, because that test is slow
_SENTENCE_ENDS: Final = frozenset(".!?…\"')]}`>。！？।؟")
_BARE_KEY = re.compile(r"[\s:;.,'\"`…。，、；：*#_]{1,8}")
_KEY_EDGES: Final = " \t\n:;.,!'\"`…。，、；：*#_"


def attacks_in_steps(view: RenderedGroup, *, context: int = 0) -> Steps[Mapping[int, tuple[Attack, ...]]]:
    """Return each candidate's attacks on the judge, by position in ``view.candidates``, in steps.

    ``context`` is the number of messages with the task, which the group puts before each trajectory. They are not
    searched, and ``Attack.message`` is counted from their end. Of other messages that all trajectories begin with, a
    user's may belong to the task, so only certain attacks in them are reported.
    """
    attacks: dict[int, tuple[Attack, ...]] = {}
    shared = view.prefix_length - context
    texts: list[list[tuple[int, str]]] = []
    distinct: dict[str, None] = {}
    for candidate in view.candidates:
        texts.append(_texts_of(candidate.messages, context))
        if distinct:
            yield
        distinct |= dict.fromkeys([text for _, text in texts[-1]])
    known = yield from _search(distinct)
    for item, candidate in enumerate(view.candidates):
        if hits := _attacks(candidate.messages, texts[item], known, context):  # nearly always there are none
            moved = [replace(hit, message=hit.message - context) for hit in hits]
            moved = [hit for hit in moved if hit.message >= shared or hit.role != "user" or hit.certainty == "certain"]
            attacks |= {item: tuple(moved)} if moved else {}
    return attacks


attacks_in = at_once(attacks_in_steps)


def find_attacks(messages: Sequence[Message], *, start: int = 0) -> tuple[Attack, ...]:
    """Return attacks on the judge in ``messages[start:]`` (canonical messages), at most one of each kind in a message.

    ``Attack.message`` is the position in ``messages``.
    """
    texts = _texts_of(messages, start)
    return _attacks(messages, texts, run_steps(_search([text for _, text in texts])), start)


def _search(texts: Collection[str]) -> Steps[_Known]:
    """Return the attacks in each of ``texts``, in steps."""
    known: _Known = dict.fromkeys(texts, ())
    for signed in _not_screened(known):
        yield
        for text in signed:
            hits: list[Attack] = []
            for begin in range(0, max(1, len(text) - _OVERLAP), _PIECE):
                yield
                piece = text[begin : begin + _PIECE + _OVERLAP]
                plain = plain_text(piece)
                for shown in chain((plain,), map(plain_text, hidden_texts(piece, plain))):
                    if windows := _windows(shown):
                        hits += yield from _attacks_in_text(shown, windows)
            known[text] = _most_certain_of_each_kind(hits)
    return known


def _not_screened(texts: Iterable[str]) -> Iterator[Iterable[str]]:
    """Yield the ``texts`` that need a search: one look at many short ones passes nearly all of them.

    Texts with letters beyond ASCII are not screened, because their plain form may have another length.
    """
    screened: list[str] = []
    size = 0
    for text in texts:
        if has_letters_beyond_ascii(text):
            yield (text,)
            continue
        screened.append(text)
        if (size := size + len(text)) > _SCREENED:
            yield screened * _may_attack("\n".join(screened))
            screened, size = [], 0
    yield from [screened] * _may_attack("\n".join(screened))


def _may_attack(text: str) -> bool:
    """Whether a text without letters beyond ASCII has a stem, a mark, or a run of letters that may be encoded."""
    data = f" {text}".encode("ascii", "replace")
    words = data.translate(_TO_WORDS)
    return _has_mark(data) or has_long_run(data) or any(map(words.__contains__, _stems(beyond_ascii=False)))


def _has_mark(data: bytes) -> bool:
    return bool([mark for first, marks in _marks().items() if first in data for mark in marks if mark in data])


@cache
def _stems(*, beyond_ascii: bool) -> tuple[bytes, ...]:
    stems = word_list("stems") + word_list("stems_beyond_ascii") * beyond_ascii
    return tuple(plain_text(stem).plain.encode() for stem in stems)


@cache
def _marks() -> Mapping[bytes, Sequence[bytes]]:
    marks_by_first: Mapping[str, Sequence[str]] = read_packaged_toml("calipers.guard", "words.toml")["marks"]
    return {first.encode(): [mark.encode() for mark in marks] for first, marks in marks_by_first.items()}


def _attacks_in_text(text: PlainText, windows: Sequence[tuple[int, int]]) -> Steps[list[Attack]]:
    """Return the attacks in the ``windows`` of a text, in steps."""
    # Most texts never get here, and the patterns of these modules take milliseconds to compile.
    from calipers.guard.forged import forged_marks, forged_verdicts  # noqa: PLC0415
    from calipers.guard.sentences import sentence_attacks  # noqa: PLC0415

    attacks = [_attack(text, hit) for hit in forged_marks(text)]
    for begin, end in windows:
        yield
        attacks += [_attack(text, hit) for hit in forged_verdicts(text, begin, end)]
        left = _AFTER_CERTAIN
        for hit in sentence_attacks(text, begin, end):
            if hit is not None:
                attacks.append(_attack(text, hit))
                continue
            yield
            left -= any(known.certainty == "certain" for known in attacks[-1:])
            if not left:
                break
    return attacks


def _windows(text: PlainText) -> list[tuple[int, int]]:
    """Return the parts of a text around the stems that may belong to an attack, at most ``_MOST_READ`` characters.

    They are empty for nearly all texts. A text with only a mark of forged layout has an empty window.
    """
    plain = text.plain
    data = f" {plain}".encode("utf-8", "surrogatepass").translate(_TO_WORDS)
    stems = [stem for stem in _stems(beyond_ascii=text.beyond_ascii) if stem in data]
    if not stems:
        return [(0, 0)] * _has_mark(text.shown.encode("ascii", "replace"))
    words = data.decode("utf-8", "surrogatepass")  # one position later than in ``plain``
    windows: list[tuple[int, int]] = []
    for place in sorted(match.start() for stem in stems for match in re.finditer(stem.decode(), words)):
        begin, end = max(0, place - _BESIDE), min(len(plain), place + _BESIDE)
        begin = plain.rfind(" ", max(0, begin - 24), begin) + 1 or begin
        if windows and begin <= windows[-1][1] <= windows[-1][0] + _PASSAGE:
            windows[-1] = windows[-1][0], end
        else:
            windows.append((begin, end))
    size = sum(end - begin for begin, end in windows)
    while size > _MOST_READ:  # what stands in the middle is read last
        begin, end = windows.pop(len(windows) // 2)
        size -= end - begin
    return windows


def _attack(text: PlainText, hit: Hit) -> Attack:
    begin = hit.begin if hit.end - hit.begin > 20 else max(0, hit.begin - 20)
    line = " ".join(text.shown[begin : begin + 2 * _EXCERPT].split())[:_EXCERPT]
    excerpt = "".join(char if char.isprintable() else "�" for char in line)
    return Attack(hit.kind, -1, "", excerpt, hit.certainty)


def _most_certain_of_each_kind(hits: Iterable[Attack]) -> tuple[Attack, ...]:
    best: dict[AttackKind, Attack] = {}
    for hit in hits:
        best[hit.kind] = min(best.get(hit.kind, hit), hit, key=lambda hit: CERTAINTIES.index(hit.certainty))
    return tuple(best.values())


def _attacks(
    messages: Sequence[Message], texts: Iterable[tuple[int, str]], known: Mapping[str, tuple[Attack, ...]], start: int
) -> tuple[Attack, ...]:
    by_message: dict[int, list[Attack]] = {}
    for index, text in texts:
        if known[text]:
            by_message.setdefault(index, []).extend(known[text])
    if len(messages) > start and (key := master_key(messages[-1])) is not None:
        by_message.setdefault(len(messages) - 1, []).append(key)
    if not by_message:
        return ()
    return tuple(
        replace(hit, message=index, role=str(messages[index].get("role")))
        for index, hits in sorted(by_message.items())
        for hit in _most_certain_of_each_kind(hits)
    )


def _texts_of(messages: Sequence[Message], start: int) -> list[tuple[int, str]]:
    """Return every text of ``messages[start:]`` that a judge sees, with its message's position, except system messages.

    If the policy's next message continues its text, the end of the first and the beginning of the next are also a text.
    """
    texts: list[tuple[int, str]] = []
    end = ""
    for index in range(start, len(messages)):
        message = messages[index]
        role, content = message.get("role"), message.get("content")
        if role in {"system", "developer"}:
            continue
        if isinstance(content, str):
            texts.append((index, content))
            if role == "assistant" and content:
                if end:
                    texts.append((index, f"{end} {content[:_EDGE].lstrip()}"))
                end = content[-_EDGE:].rstrip()
                end = "" if end[-1:] in _SENTENCE_ENDS else end
            if len(message) == 2:
                continue
        inner: list[str] = []
        _collect(message, inner, _DEEPEST, _SEARCHED if isinstance(content, str) else _IDS)
        texts += [(index, text) for text in inner]
    return texts


def _collect(value: Any, found: list[str], depth: int, skipped: frozenset[str] = _IDS) -> None:
    """Collect the texts in a part of a message, including names and arguments of tool calls and unusual keys."""
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, _LISTS):
        for inner in value if depth else ():
            _collect(inner, found, depth - 1)
    elif isinstance(value, Mapping):
        for key, inner in value.items() if depth else ():
            if not isinstance(inner, str):
                _collect(inner, found, depth - 1)
            elif key in skipped:
                continue
            elif key == "arguments" and "\\" in inner:  # JSON, in which a line break is an escape sequence
                found.append(inner.replace("\\n", "\n").replace('\\"', '"'))
            else:
                found.append(split_name(inner) if key == "name" else inner)
            if key not in _USUAL_KEYS and isinstance(key, str):
                found.append(split_name(key))


@cache
def _openings() -> frozenset[str]:
    return frozenset(normalize("NFKC", opening) for opening in word_list("master_keys"))


def master_key(message: Message) -> Attack | None:
    """Return the attack of a message that is only a master key, an opening phrase that some judges reward, or None.

    It is certain if the content that the phrase announces is missing.
    """
    content = message.get("content")
    if message.get("role") != "assistant" or message.get("tool_calls"):
        return None
    if not isinstance(content, str) or len(content) > LONGEST_MASTER_KEY:
        return None
    shown = content.strip()
    plain = normalize("NFKC", shown)
    certainty: Certainty | None = None
    if shown and _BARE_KEY.fullmatch(content):
        certainty = "certain" if ":" in plain else "likely"
    elif (bare := normalize("NFKC", content).lower().strip(_KEY_EDGES).replace("’", "'")) in _openings():
        announces = plain.rstrip("*_# ").endswith(":") or "'" in bare or bare.count(" ") > 2
        certainty = "certain" if announces else "suspicious"
    return None if certainty is None else Attack("master_key", -1, "", shown, certainty)
