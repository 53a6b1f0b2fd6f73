"""Splits a rendered text into pieces: texts that may lose their middle, and turns that may be dropped as a whole.

The split works on the text that the judge sees. Content never contains the marker, so the pieces are exact. ``elision``
chooses what is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal, TypeAlias

from calipers.render.transcript import IMAGE
from calipers.types import Candidate, Image, Part, RenderedGroup

Kind: TypeAlias = Literal["tool", "own", "fixed"]
"""The kind of a text: a tool's text (``tool``) and the agent's own text (``own``) may be cut, a
``fixed`` text never is.
"""

_HEADED = frozenset({"system", "user", "assistant", "developer", "role", "result", "error"})
_OUTSIDE = frozenset({"offered", "no"})
_TEXTS = frozenset({"assistant", "reasoning", "refusal", "text", "result", "error"})
_SEE = re.compile(r" see (X\d+)$")
_CALL = re.compile(r'call \S+ (?:"(?:[^"\\]|\\.)*"|[^\s"{]\S*) ')
_PLACE = re.compile(f"{IMAGE}([0-9]+){IMAGE}")
_LONGEST_GAP = len(" … 1,000,000 messages (1,000,000,000 characters) left out …\n")


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of a transcript. Its ``text`` may be cut if its ``kind`` allows that.

    ``message`` and ``turn`` count from 0. -1 means that the block belongs to no message or turn.
    """

    before: str
    text: str
    after: str
    kind: Kind
    message: int = -1
    turn: int = -1

    @property
    def length(self) -> int:
        """Return the number of characters of the block."""
        return len(self.before) + len(self.text) + len(self.after)


@dataclass(frozen=True, slots=True)
class Body:
    """The pieces of a candidate's transcript or of the head. The ``droppable`` turns may be dropped, in this order.

    A gap line takes at most ``gap_length`` characters.
    """

    pieces: tuple[Piece, ...]
    droppable: tuple[int, ...] = ()
    gap_length: int = 0


def flat_text(parts: Sequence[Part]) -> str:
    """Join a transcript's ``parts`` into one text, in which placeholders replace images.
    ``parts_of_text`` is the inverse.
    """
    numbers = count()
    return "".join(part if isinstance(part, str) else f"{IMAGE}{next(numbers)}{IMAGE}" for part in parts)


def parts_of_text(text: str, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Split a text that ``flat_text`` returned into a transcript's parts. Its placeholders refer to the images of
    ``parts``.
    """
    images = [part for part in parts if isinstance(part, Image)]
    pieces = _PLACE.split(text)
    found: list[Part] = [images[int(piece)] if place % 2 else piece for place, piece in enumerate(pieces)]
    return tuple(part for part in found if part != "")


def exhibit_kinds(view: RenderedGroup, bodies: Iterable[Body]) -> Mapping[str, Kind]:
    """Return the kind of each exhibit's text in a transcript. An exhibit that any task or last answer uses is fixed."""
    kinds: dict[str, Kind] = {}
    for piece in (*outline_head(view, {}).pieces, *(piece for body in bodies for piece in body.pieces)):
        name = exhibit_referred_to(piece)
        if name:
            known = kinds.setdefault(name, piece.kind)
            if known != piece.kind:
                kinds[name] = "fixed" if "fixed" in {known, piece.kind} else "own"
    return kinds


def outline_head(view: RenderedGroup, exhibits: Mapping[str, Kind]) -> Body:
    """Return the pieces of a transcript's head, in which no turn may be dropped."""
    pieces = []
    role = ""
    for block in _blocks(view.head, view.marker):
        word, name = _words(block)
        role = word if word in _HEADED else "assistant" if word == "call" else role
        if word == "exhibit":
            header, _, text = block.partition("\n")
            pieces.append(Piece(f"{view.marker} {header}\n", *_split_newline(text), exhibits.get(name, "fixed")))
        else:
            pieces.append(_piece(block, _kind_of(word, role), view.marker))
    return Body(tuple(map(_fixed_if_uncuttable, pieces)))


def outline_candidate(candidate: Candidate, view: RenderedGroup) -> Body:
    """Return the pieces of a candidate's own messages. Its task and its last answer are never cut or dropped."""
    blocks = _blocks(candidate.body, view.marker)
    roles, numbers = _messages(blocks)
    pieces = [
        replace(
            _piece(block, _kind_of(_words(block)[0], roles[number] if number >= 0 else ""), view.marker), message=number
        )
        for block, number in zip(blocks, numbers, strict=True)
    ]
    begun = any(message["role"] == "assistant" for message in candidate.messages[: view.prefix_length])
    fixed = {*_task(roles, begun=begun), *_answer(pieces, roles)}
    turns = _turns(roles)
    pieces = [
        replace(
            _fixed_if_uncuttable(piece)
            if piece.message not in fixed or _is_reasoning_or_call(piece)
            else _fixed(piece),
            turn=turns[piece.message] if piece.message >= 0 else -1,
        )
        for piece in pieces
    ]
    stay = {turns[number] for number in fixed} | {max(turns, default=-1), -1}
    if len(roles) != len(candidate.messages) - view.prefix_length:
        stay |= set(turns)  # calipers did not write this transcript, so nothing is dropped
    return Body(tuple(pieces), _from_the_middle(turns, stay), len(view.marker) + _LONGEST_GAP)


def _blocks(parts: Sequence[Part], marker: str) -> list[str]:
    """Return the header line and text of every block of a transcript, without the marker."""
    return flat_text(parts).split(f"{marker} ")[1:]


def _words(block: str) -> tuple[str, str]:
    """Return the first word of a block's header line, and the rest of this line."""
    header = block.partition("\n")[0]
    word, _, rest = header.partition(" ")
    return word, rest


def _messages(blocks: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the roles of a transcript's messages, and the message number of each block (-1: none)."""
    roles: list[str] = []
    numbers: list[int] = []
    pending = False  # reasoning precedes the header of its message
    for block in blocks:
        word, rest = _words(block)
        if word in _OUTSIDE:
            numbers.append(-1)
            continue
        if word == "reasoning" or (word in _HEADED and not pending):
            roles.append("assistant" if word == "reasoning" else _role(word, rest))
        elif word in _HEADED:
            roles[-1] = _role(word, rest)
        elif word == "call" and not pending and (not roles or roles[-1] != "assistant"):
            roles.append("assistant")
        pending = word == "reasoning"
        numbers.append(len(roles) - 1)
    return roles, numbers


def _role(word: str, rest: str) -> str:
    if word in {"result", "error"} or (word == "role" and rest.partition(" ")[0] in {"function", "tool"}):
        return "tool"
    return word


def _kind_of(word: str, role: str) -> Kind:
    if word in {"reasoning", "call"}:
        return "own"
    if role in {"tool", "result", "error"} and (word in _TEXTS or word == "role"):
        return "tool"
    return "own" if role == "assistant" and word in _TEXTS else "fixed"


def exhibit_referred_to(piece: Piece) -> str:
    """Return the name of the exhibit that the header of a transcript's piece refers to, or an empty text."""
    header = piece.before.partition("\n")[0]
    if header.partition(" ")[2].startswith(("call ", "fields ", "part ")):
        return ""  # the agent wrote the rest of this line
    found = _SEE.search(header)
    return found[1] if found else ""


def exhibit_defined_by(piece: Piece) -> str:
    """Return the name of the exhibit that this piece of a transcript's head defines, or an empty text."""
    word, name = _words(piece.before.partition(" ")[2])
    return name if word == "exhibit" else ""


def _piece(block: str, kind: Kind, marker: str) -> Piece:
    """Return a block as a piece whose text is the arguments of a call, or the lines after the header line."""
    if block.startswith("call "):
        found = _CALL.match(block)
        return (
            Piece(f"{marker} {found[0]}", *_split_newline(block[found.end() :]), kind)
            if found
            else Piece(f"{marker} {block}", "", "", "fixed")
        )
    header, _, text = block.partition("\n")
    return (
        Piece(f"{marker} {header}\n", *_split_newline(text), kind) if text else Piece(f"{marker} {block}", "", "", kind)
    )


def _split_newline(text: str) -> tuple[str, str]:
    return (text[:-1], "\n") if text.endswith("\n") else (text, "")


def _fixed_if_uncuttable(piece: Piece) -> Piece:
    """Return a piece as fixed if it must not be cut because it is already fixed or contains an image."""
    return _fixed(piece) if piece.kind == "fixed" or IMAGE in piece.text else piece


def _fixed(piece: Piece) -> Piece:
    return replace(piece, before=piece.before + piece.text, text="", kind="fixed")


def _task(roles: Sequence[str], *, begun: bool) -> set[int]:
    """Return the numbers of the messages that state the task: the messages before the agent's first message.

    If ``begun``, the agent has already written a message in the shared beginning, so the result is empty.
    """
    if begun:
        return set()
    first = roles.index("assistant") if "assistant" in roles else len(roles)
    return {number for number in range(first) if roles[number] != "tool"}


def _answer(pieces: Sequence[Piece], roles: Sequence[str]) -> set[int]:
    """Return the number of the last message in which the agent writes text, an image or a refusal, or an empty set."""
    answers = {
        piece.message
        for piece in pieces
        if piece.message >= 0
        and roles[piece.message] == "assistant"
        and _words(piece.before.partition(" ")[2])[0] in {"assistant", "text", "refusal", "image"}
        and (piece.text or exhibit_referred_to(piece))
    }
    return {max(answers)} if answers else set()


def _is_reasoning_or_call(piece: Piece) -> bool:
    return piece.before.partition(" ")[2].startswith(("reasoning\n", "call "))


def _turns(roles: Sequence[str]) -> list[int]:
    """Return the turn of each message. Tool results belong to the turn of their call."""
    turns: list[int] = []
    for role in roles:
        turns.append(turns[-1] + (role != "tool") if turns else 0)
    return turns


def _from_the_middle(turns: Sequence[int], stay: Collection[int]) -> tuple[int, ...]:
    last = max(turns, default=0)
    return tuple(sorted(set(turns) - set(stay), key=lambda turn: (abs(2 * turn - last), turn)))
