"""Shortens a rendered group until it fits, by the same rule for all candidates, and states every gap.

A layout line replaces the middle of a text. Content cannot forge this line, and ``decode`` reads it back::

    @kom result c1 search
    {"rows": [{"id": 1, "name"
    @kom … 12,345 characters left out …
    "id": 980, "name": "Zoe"}]}

Dropped messages leave ``@kom … 4 messages (2,345 characters) left out …``. ``fitting`` decides how many characters fit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from calipers.render.decode import decode
from calipers.render.escapes import unescape
from calipers.render.group import compose, count_characters
from calipers.render.outline import (
    Body,
    Piece,
    exhibit_defined_by,
    exhibit_kinds,
    exhibit_referred_to,
    outline_candidate,
    outline_head,
    parts_of_text,
)
from calipers.types import Candidate, RenderedGroup

_USUAL_MINIMUM, _MINIMUM = 400, 120
"""A text is cut to no fewer characters than this, gap line included. The second limit applies if the group would not
fit with the first.
"""
_UNLIMITED = 2**62
_NAMES = {"tool": ("tool result", "tool results"), "own": ("text of the agent", "texts of the agent")}
_ESCAPED = re.compile(r"\\u\{[0-9a-f]{1,6}\}")
_LONGEST_ESCAPE = 10


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a transcript is shortened: ``dropped`` turns, and the limits in characters for ``tool``
    texts and ``own`` texts.
    """

    dropped: frozenset[int] = frozenset()
    tool: int = _UNLIMITED
    own: int = _UNLIMITED


def shorten_group(
    view: RenderedGroup, size: int, *, shown: int, among: Sequence[int] | None = None
) -> RenderedGroup | None:
    """Return the transcript ``view``, shortened so that its head and any ``shown`` candidates have at most ``size``
    characters.

    Only the candidates ``among`` are shortened (default: all). Returns None if ``view`` cannot be shortened enough, and
    the same object if it fits.

    Every candidate gets the same limit. A candidate above this limit loses first the middles of its longest tool
    outputs, then the middles of the agent's texts, and then whole turns in the middle. The text that all candidates
    share is shortened too if it takes more than half of ``size``. The task, tool definitions, and a candidate's last
    answer are never cut. ``Candidate.messages``, ``Candidate.elided`` and ``RenderedGroup.warnings`` state the gaps.
    """
    chosen = [view.candidates[item] for item in (range(len(view.candidates)) if among is None else sorted(among))]
    lengths = sorted((count_characters(candidate.body) for candidate in chosen), reverse=True)[:shown]
    head_length = count_characters(view.head)
    if head_length + sum(lengths) <= size:
        return view
    bodies = [outline_candidate(candidate, view) for candidate in chosen]
    head = outline_head(view, exhibit_kinds(view, bodies))
    least = _minimum(head)
    tried: set[int] = set()
    for allowed in (max(size // 2, size - sum(lengths), least), least):
        plan = _Plan() if head_length <= allowed else _mildest_plan(head, allowed) or _Plan()
        short_head = _shortened(head, plan, view.marker)
        share = _equal_share(lengths, size - len(short_head.text))
        if len(short_head.text) in tried or share <= 0:
            continue
        tried.add(len(short_head.text))
        plans = [_mildest_plan(body, share) for body in bodies]
        shortened = [_shortened(body, plan, view.marker) for body, plan in zip(bodies, plans, strict=True) if plan]
        if len(shortened) == len(bodies):
            return _assembled(view, short_head, chosen, shortened)
    return None


def minimum_lengths(view: RenderedGroup) -> tuple[int, Sequence[int]]:
    """Return the lengths to which a transcript can be cut: of the head without exhibits, and of each candidate.

    A candidate's length includes the exhibits that the candidate uses. Lengths are in characters.
    """
    bodies = [outline_candidate(candidate, view) for candidate in view.candidates]
    head = outline_head(view, exhibit_kinds(view, bodies))
    exhibits = {name: _minimum_of(piece) for piece in head.pieces if (name := exhibit_defined_by(piece))}
    needs = [
        _minimum_without_turns(body)
        + sum(exhibits.get(name, 0) for name in {exhibit_referred_to(piece) for piece in body.pieces})
        for body in bodies
    ]
    return _minimum(head) - sum(exhibits.values()), needs


def without_unused_exhibits(view: RenderedGroup, shown: Collection[int]) -> RenderedGroup:
    """Return the transcript ``view`` without exhibits that neither the head nor a candidate of ``shown`` refers to."""
    head = outline_head(view, {})
    bodies = [outline_candidate(view.candidates[item], view) for item in shown]
    used = {exhibit_referred_to(piece) for body in (head, *bodies) for piece in body.pieces}
    kept = [piece for piece in head.pieces if not (name := exhibit_defined_by(piece)) or name in used]
    text = "".join(f"{piece.before}{piece.text}{piece.after}" for piece in kept)
    return replace(view, head=parts_of_text(text, view.head))


def minimum_lengths_fit(head: int, needs: Sequence[int], size: int) -> bool:
    """Return whether a transcript's head and candidates of these minimum lengths may fit into ``size`` characters."""
    return head + sum(needs) <= size


def omission_lines(before: RenderedGroup, after: RenderedGroup, order: Iterable[int]) -> tuple[str, ...]:
    """Return a line for each gap in the transcript ``after`` shortening, in its head or in a candidate of ``order``."""
    lines = list(after.warnings[len(before.warnings) :])
    for item in sorted(order):
        candidate = after.candidates[item]
        if not candidate.members:
            continue  # a canary, which represents no trajectory
        names = ", ".join(repr(before.ids[member]) for member in candidate.members)
        which = "trajectory" if len(candidate.members) == 1 else "trajectories"
        lines += [f"{which} {names}: {gap}" for gap in candidate.elided[len(before.candidates[item].elided) :]]
    return tuple(lines)


def _equal_share(lengths: Sequence[int], room: int) -> int:
    """Return the largest limit per text at which texts of these ``lengths`` take at most ``room`` characters together.

    Texts shorter than the limit leave the rest of their share to longer ones.
    """
    left = room
    ascending = sorted(lengths)
    for place, length in enumerate(ascending):
        share = left // (len(ascending) - place)
        if length > share:
            return share
        left -= length
    return _UNLIMITED


def _mildest_plan(body: Body, room: int) -> _Plan | None:
    """Return the plan that shortens ``body`` to ``room`` characters with the fewest turns dropped.

    Among plans that drop equally many turns, it is the plan that leaves the longest texts. Returns None if no plan is
    short enough.
    """
    turns = body.droppable
    for floor in (_USUAL_MINIMUM, _MINIMUM):
        low, high = 0, len(turns)
        if _limits(body, frozenset(turns), room, floor) is None:
            continue
        while low < high:
            middle = (low + high) // 2
            if _limits(body, frozenset(turns[:middle]), room, floor) is None:
                low = middle + 1
            else:
                high = middle
        return _limits(body, frozenset(turns[:high]), room, floor)
    return None


def _limits(body: Body, dropped: frozenset[int], room: int, floor: int) -> _Plan | None:
    kept = [piece for piece in body.pieces if piece.turn not in dropped]
    tools = [len(piece.text) for piece in kept if piece.kind == "tool"]
    own = [len(piece.text) for piece in kept if piece.kind == "own"]
    left = room - sum(piece.length for piece in kept) + sum(tools) + sum(own) - _gaps(dropped) * body.gap_length
    least_tools, least_own = (sum(min(length, floor) for length in lengths) for lengths in (tools, own))
    if least_tools + sum(own) <= left:
        return _Plan(dropped, tool=_equal_share(tools, left - sum(own)))
    if least_tools + least_own <= left:
        return _Plan(dropped, tool=floor, own=_equal_share(own, left - least_tools))
    return None


def _minimum(body: Body) -> int:
    """Return the least number of characters to which ``body`` can be cut without dropping a turn."""
    return sum(map(_minimum_of, body.pieces))


def _minimum_without_turns(body: Body) -> int:
    """Return the number of characters to which ``body`` can be cut if all droppable turns are dropped."""
    dropped = frozenset(body.droppable)
    kept = [piece for piece in body.pieces if piece.turn not in dropped]
    return sum(map(_minimum_of, kept)) + _gaps(dropped) * body.gap_length


def _minimum_of(piece: Piece) -> int:
    return piece.length - max(0, len(piece.text) - _MINIMUM) * (piece.kind != "fixed")


def _gaps(dropped: frozenset[int]) -> int:
    return sum(turn - 1 not in dropped for turn in dropped)


@dataclass(frozen=True, slots=True)
class _Shortened:
    """The text of a shortened head or candidate, and a line for each gap in it."""

    text: str
    gaps: tuple[str, ...] = ()


def _shortened(body: Body, plan: _Plan, marker: str) -> _Shortened:
    written: list[str] = []
    cuts: dict[str, list[int]] = {"tool": [], "own": []}
    dropped: list[Piece] = []
    for is_dropped, run in groupby(body.pieces, lambda piece: piece.turn in plan.dropped):
        pieces = list(run)
        if is_dropped:
            written.append(f"{marker} … {_amount(pieces)} left out …\n")
            dropped += pieces
            continue
        for piece in pieces:
            text, missing = _cut(piece.text, plan.tool if piece.kind == "tool" else plan.own, marker)
            written.append(f"{piece.before}{text}{piece.after}")
            if missing:
                cuts[piece.kind].append(missing)
    gaps = [
        f"{sum(missing):,} characters of {len(missing)} {_NAMES[kind][len(missing) > 1]} left out"
        for kind, missing in cuts.items()
        if missing
    ]
    gaps += [f"{_amount(dropped)} in the middle left out"] if dropped else []
    return _Shortened("".join(written), tuple(gaps))


def _amount(pieces: Sequence[Piece]) -> str:
    messages = len({piece.message for piece in pieces})
    total = sum(piece.length for piece in pieces)
    return f"{messages} message{'s' * (messages > 1)} ({total:,} characters)"


def _cut(text: str, cap: int, marker: str) -> tuple[str, int]:
    """Cut the middle out of ``text`` so that at most ``cap`` characters remain; return the rest and the length cut."""
    if len(text) <= cap:
        return text, 0
    keep = max(0, cap - len(f"\n{marker} … {len(text):,} characters left out …\n"))
    first = _unsplittable(text, keep - keep // 2)[0]
    last = _unsplittable(text, len(text) - keep // 2)[1]
    missing = len(unescape(text[first:last]))
    return f"{text[:first]}\n{marker} … {missing:,} characters left out …\n{text[last:]}", missing


def _unsplittable(text: str, place: int) -> tuple[int, int]:
    """Return the bounds of the escape, or of the CR LF, that a cut at ``place`` would split.

    Returns ``place`` twice if nothing would be split.
    """
    if text[place - 1 : place + 1] == "\r\n" and place:
        return place - 1, place + 1
    start = max(0, place - _LONGEST_ESCAPE)
    spans = (found.span() for found in _ESCAPED.finditer(text, start, place + _LONGEST_ESCAPE))
    return next(((first, last) for first, last in spans if first < place < last), (place, place))


def _assembled(
    view: RenderedGroup, head: _Shortened, chosen: Sequence[Candidate], bodies: Sequence[_Shortened]
) -> RenderedGroup:
    made = {
        id(candidate): Candidate(
            candidate.members,
            candidate.messages,
            parts_of_text(short.text, candidate.body),
            (*candidate.elided, *short.gaps),
        )
        for candidate, short in zip(chosen, bodies, strict=True)
    }
    shortened = replace(
        view,
        head=parts_of_text(head.text, view.head),
        warnings=(*view.warnings, *(f"shared by all: {gap}" for gap in head.gaps)),
        candidates=tuple(made.get(id(candidate), candidate) for candidate in view.candidates),
    )
    # Judges that read ``Candidate.messages`` and not the text see the same gaps.
    shown = [place for place, candidate in enumerate(view.candidates) if id(candidate) in made]
    keys = {place: f"K{place}" for place in shown}
    read = decode(compose(shortened, shown, list(keys.values())), marker=view.marker).messages
    again = tuple(
        replace(candidate, messages=read[keys[place]]) if place in keys else candidate
        for place, candidate in enumerate(shortened.candidates)
    )
    return replace(shortened, candidates=again)
