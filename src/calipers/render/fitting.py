"""Makes a question fit a judge's context window, and states every gap that this makes.

One rule for all candidates: each may be equally long. A longer one loses the middles of its longest texts, down to
``_SHORTEST`` characters a text, and then whole turns from its middle. The task, tool definitions and a candidate's last
answer are never cut, and what users say later goes with whole turns only. A candidate that is too long even so is not
shown. A layout line, which content cannot forge, replaces what is left out::

    @kom result c1 search
    {"rows": [{"id": 1, "name"
    @kom … 12,345 characters left out …
    "id": 980, "name": "Zoe"}]}

Tokens are estimated from UTF-8 bytes, because the number of bytes per token varies less between scripts than the number
of characters per token. Servers' own token counts correct the estimate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, groupby

from calipers.render.escapes import unescape
from calipers.render.group import count_characters
from calipers.render.transcript import IMAGE
from calipers.types import Ask, Candidate, Failure, Image, JudgeRequest, Part, RenderedGroup, Window

BYTES_PER_TOKEN = 3.0
"""The estimate of bytes per token before a server has counted any tokens, so low that it overestimates
most texts' tokens.
"""
_MIN_DENSITY, _MAX_DENSITY = 0.5, 8.0
_MIN_WINDOW, _MAX_WINDOW = 128, 100_000_000
_IMAGE_TOKENS, _IMAGE = 1000, 3000
"""What an image counts, in tokens and in characters of a transcript."""
_MESSAGE_TOKENS = 16
_REPLY_SHARE = 4
_SAFETY_MARGIN = 0.95
_MAX_TRIES = 6
_SHORTEST = 120
"""A text is cut to no fewer characters than this, gap line included."""
_UNLIMITED = 2**62
_LONGEST_GAP = len(" … 1,000 turns (1,000,000,000 characters) left out …\n")
_LARGER = "name a judge with a larger window"

_LAYOUT = frozenset({"offered", "no", "marks", "tools", "context:", "exhibit"})
_HEADED = frozenset({"system", "user", "assistant", "developer", "role", "result", "error"})
_ANSWERS = frozenset({"assistant", "text", "refusal", "image"})
_UNCUT = frozenset({"image", "fields", "part"})
_ONE_LINE = frozenset({"call", "fields", "part"})
"""Blocks whose content begins on the header line."""
_SEE = re.compile(r" see (X\d+)$")
_CALL = re.compile(r'call \S+ (?:"(?:[^"\\]|\\.)*"|[^\s"{]\S*) ')
_PLACE = re.compile(f"{IMAGE}([0-9]+){IMAGE}")
_ESCAPED = re.compile(r"\\u\{[0-9a-f]{1,6}\}")
_LONGEST_ESCAPE = 10

Frame = Callable[[Ask, RenderedGroup], JudgeRequest]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A question that fits the context window. ``omitted`` maps candidates that were too long to the reason."""

    request: JudgeRequest
    omitted: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why no question fits the judge's context window. ``omitted`` maps candidates that are too long to the reason."""

    failure: Failure
    omitted: Mapping[int, str] = field(default_factory=dict)


def fit_question(request: JudgeRequest, window: Window | None, frame: Frame) -> Fitted | Unfit:
    """Return ``request`` if the text shown to the judge fits ``window``, else the same question about shortened
    candidates.

    Tokens are reserved for the reply: its limit, but at most a quarter of the window. A candidate that is too long even
    when shortened is omitted, so that the others are judged: the longest first. Returns Unfit (``context_window``, with
    the sizes) if no question remains. If ``window`` is None, the window is unknown, and ``request`` is returned.
    """
    if window is None:
        return Fitted(request)
    question = _Question(request, window, frame)
    if question.needed <= question.allowed:
        return Fitted(request)
    view, ask = request.view, request.ask
    if (shown := question.shortened(view, ask, range(len(view.candidates)))) is not None:
        return Fitted(shown)
    least_of, needs = _least_lengths(view)
    real = [item for item in ask.order if view.candidates[item].members]
    least = 1 if view.rubrics else min(2, len(real))  # with fewer candidates there is nothing to compare
    left = list(ask.order)
    for victim in (None, *sorted(set(real) & set(ask.members), key=lambda item: (-needs[item], item))):
        left = [item for item in left if item != victim]
        members = tuple(item for item in ask.members if item in left)
        if len(set(left) & set(real)) < least or not members:
            break
        if sum(least_of[item] for item in left) <= question.size_for(left):
            about = replace(ask, members=members, order=tuple(left))
            shown = question.shortened(_without_unused_exhibits(view, left), about, sorted(left))
            if shown is not None:
                gone = [item for item in ask.order if item not in left]
                return Fitted(shown, {item: question.too_long(item, needs[item], len(left)) for item in gone})
    return question.unfit(set(real) & set(ask.members), needs)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question and the context window that it has to fit."""

    request: JudgeRequest
    window: Window
    frame: Frame

    @property
    def allowed(self) -> int:
        """Return the number of tokens in the window that are not reserved for the reply."""
        most, limit = self.window.tokens // _REPLY_SHARE, self.request.max_tokens
        return self.window.tokens - (most if limit is None else min(limit, most))

    @property
    def needed(self) -> int:
        """Return the estimated number of tokens of the whole question."""
        return estimated_tokens(self.request, self.window.bytes_per_token)

    @property
    def around(self) -> float:
        """Return the estimated number of tokens around the transcript: instructions, rubric and output format."""
        parts = self._parts(self.request.ask.order)
        images = sum(isinstance(part, Image) for part in parts)
        return self.needed - _bytes(parts) / self.window.bytes_per_token - _IMAGE_TOKENS * images

    def size_for(self, items: Iterable[int]) -> int:
        """Return how many characters the transcript's head and the candidates ``items`` may have together, from the
        average number of bytes of their characters.
        """
        parts = self._parts(items)
        room = (self.allowed - self.around) * self.window.bytes_per_token
        return int(room * count_characters(parts) / max(1, _bytes(parts)))

    def _parts(self, items: Iterable[int]) -> list[Part]:
        view = self.request.view
        return [*view.head, *(part for item in items for part in view.candidates[item].body)]

    def shortened(self, view: RenderedGroup, ask: Ask, items: Sequence[int]) -> JudgeRequest | None:
        """Return the question ``ask`` with the candidates ``items`` of ``view`` shortened so that it fits the window.

        None if that is impossible.
        """
        size, around = self.size_for(items), self.around
        for tried in range(_MAX_TRIES):
            shorter = shorten_group(view, size, shown=len(ask.order), among=items)
            if shorter is None:
                return None
            shown = self.frame(ask, shorter)
            estimated = estimated_tokens(shown, self.window.bytes_per_token)
            if estimated <= self.allowed:
                return shown
            # What is left may have more bytes per character than what went, so later tries take more off.
            size = int(size * (self.allowed - around) / (estimated - around) * (1 - tried / 50)) - 1
        return None

    def too_long(self, item: int, need: int, shown: int) -> str:
        """Return why a candidate is too long to be among the ``shown`` candidates, and the remedy."""
        reason = (
            f"it is too long for the judge's context window of {self.window.tokens} tokens: {need:,} characters of it, "
            "its last answer and images included, are never left out"
        )
        if shown and need <= self.size_for([item]):
            return f"{reason}. Show fewer at once (protocol='pointwise', at_once=), or {_LARGER}"
        return f"{reason}. {_LARGER.capitalize()}, or limit how long the policy's answers get"

    def unfit(self, real: set[int], needs: Sequence[int]) -> Unfit:
        """Return the failure, which names the longest part of the question: instructions, what all share, or who."""
        view, alone = self.request.view, len(self.request.ask.order) == 1
        head = _outline(_without_unused_exhibits(view, ()).head, view).least
        around = f"the instructions and the rubric around the candidates, about {int(self.around)} tokens,"
        causes = [
            (self.around * self.window.bytes_per_token, f"{around} are too long. Shorten the rubric", -1),
            (head, f"what all candidates share, {head:,} characters of task and tools, is too long. Shorten it", -1),
        ]
        for item in sorted(real, key=lambda item: (-needs[item], item))[:1]:
            names = ", ".join(repr(view.ids[member]) for member in view.candidates[item].members)
            lost = f"without {names}, which is too long, too little is left to compare"
            reason = self.too_long(item, needs[item], len(self.request.ask.order) - 1)
            causes.append((needs[item], reason.partition(". ")[0] if alone else lost, item))
        _, cause, victim = max(causes, key=lambda known: known[0])
        sizes = (
            f"The question has about {self.needed} tokens and does not fit a context window of {self.window.tokens}, "
            f"of which {self.window.tokens - self.allowed} are reserved for the reply, even with its longest texts cut"
        )
        omitted = {} if victim < 0 else {victim: self.too_long(victim, needs[victim], len(self.request.ask.order) - 1)}
        return Unfit(Failure("context_window", f"{sizes}: {cause}. {_LARGER.capitalize()}"), omitted)


# --- sizes ---


def estimated_tokens(request: JudgeRequest, bytes_per_token: float) -> int:
    """Return the estimated number of tokens in the text shown to the judge."""
    text, images = text_bytes_and_images(request)
    return int(text / bytes_per_token) + 1 + _IMAGE_TOKENS * images + _MESSAGE_TOKENS * len(request.messages)


def text_bytes_and_images(request: JudgeRequest) -> tuple[int, int]:
    """Return how many UTF-8 bytes of text and how many images a question shows to the judge."""
    total = images = 0
    for message in request.messages:
        content = message.get("content") or ()
        for part in [{"text": content}] if isinstance(content, str) else content:
            if "text" in part:
                total += _size(part["text"])
            else:
                images += 1
    return total, images


def window_from_refusal(
    request: JudgeRequest, limit: int | None, prompt: int | None, before: Window | None
) -> Window | None:
    """Return the window for text shown to the judge that follows from a server's refusal of a too long question.

    ``limit`` is the window that the server stated. ``prompt`` is the number of tokens that the server counted, which
    gives the bytes per token. Returns None if the server stated no plausible limit.
    """
    if limit is None or not _MIN_WINDOW <= limit <= _MAX_WINDOW:
        return None
    text, images = text_bytes_and_images(request)
    if prompt and not images:
        density = text / prompt * _SAFETY_MARGIN
    else:
        # The question was too long, so it has at least as many tokens as the limit.
        density = min(text / limit * _SAFETY_MARGIN, before.bytes_per_token if before else BYTES_PER_TOKEN)
    return Window(limit if before is None else min(limit, before.tokens), plausible_bytes_per_token(density))


def plausible_bytes_per_token(bytes_per_token: float) -> float:
    """Return ``bytes_per_token`` of transcripts, restricted to the range that is plausible for a tokenizer."""
    return min(max(bytes_per_token, _MIN_DENSITY), _MAX_DENSITY)


def _bytes(parts: Iterable[Part]) -> int:
    return sum(_size(part) for part in parts if not isinstance(part, Image))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


# --- shortening ---


def shorten_group(view: RenderedGroup, size: int, *, shown: int, among: Sequence[int]) -> RenderedGroup | None:
    """Return the transcript ``view``, shortened so that its head and any ``shown`` of the candidates ``among`` have at
    most ``size`` characters.

    None if it cannot be shortened enough, and the same object if it fits. What all candidates share is shortened too if
    it takes more than half of ``size``. ``Candidate.elided`` and ``RenderedGroup.warnings`` state the gaps;
    ``Candidate.messages`` stay whole.
    """
    lengths = sorted((_length(view.candidates[item].body) for item in among), reverse=True)[:shown]
    if _length(view.head) + sum(lengths) <= size:
        return view
    outlines = {item: _outline(view.candidates[item].body, view, view.candidates[item]) for item in among}
    whole = {one.see for outline in outlines.values() for one in outline.blocks if not one.can_be_cut}
    is_answered = all(outline.is_answered for outline in outlines.values())
    head = _outline(view.head, view, whole=whole, is_answered=is_answered)
    plan = head.plan(max(size // 2, size - sum(lengths))) or head.plan(head.least)
    if plan is None:
        return None
    text, gaps = head.written(plan, view.marker)
    warnings, shared = (*view.warnings, *(f"shared by all: {gap}" for gap in gaps)), _parts_of_text(text, view.head)
    share = _equal_share(lengths, size - _length(shared))
    candidates = list(view.candidates)
    for item, outline in outlines.items():
        if (own := outline.plan(share)) is None:
            return None
        candidate, (text, gaps) = view.candidates[item], outline.written(own, view.marker)
        body = _parts_of_text(text, candidate.body)
        candidates[item] = replace(candidate, body=body, elided=(*candidate.elided, *gaps))
    return replace(view, head=shared, warnings=warnings, candidates=tuple(candidates))


def omission_lines(before: RenderedGroup, after: RenderedGroup, order: Iterable[int]) -> tuple[str, ...]:
    """Return a line for each gap in the transcript ``after`` shortening, in its head or in a candidate of ``order``."""
    lines = list(after.warnings[len(before.warnings) :])
    for item in sorted(order):
        candidate = after.candidates[item]
        if candidate.members:  # a canary represents no trajectory
            names = ", ".join(repr(before.ids[member]) for member in candidate.members)
            which = "trajectory" if len(candidate.members) == 1 else "trajectories"
            lines += [f"{which} {names}: {gap}" for gap in candidate.elided[len(before.candidates[item].elided) :]]
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a transcript is shortened: the turns left out, and the longest text in characters."""

    dropped: frozenset[int] = frozenset()
    cap: int = _UNLIMITED


@dataclass(frozen=True, slots=True)
class _Block:
    """One block of a transcript: layout ``before``, a ``text`` that may be cut, and its line end ``after``.

    ``number`` is that of its message, and ``turn`` its turn; both are -1 for layout. ``exhibit`` is the name of the
    exhibit that the block defines, ``see`` of the one that it refers to. ``images`` is what its images add to its
    length.
    """

    before: str
    text: str
    after: str
    word: str
    number: int
    exhibit: str = ""
    see: str = ""
    images: int = 0
    turn: int = -1
    can_be_cut: bool = False

    @property
    def length(self) -> int:
        return len(self.before) + len(self.text) + len(self.after) + self.images

    @property
    def least(self) -> int:
        return self.length - max(0, len(self.text) - _SHORTEST) * self.can_be_cut


@dataclass(frozen=True, slots=True)
class _Outline:
    """The blocks of a candidate's transcript or of the head. ``droppable`` turns may go, in this order."""

    blocks: tuple[_Block, ...]
    droppable: tuple[int, ...]
    is_answered: bool
    gap: int

    @property
    def least(self) -> int:
        """Return the least number of characters to which it can be shortened, without the exhibits of the head."""
        return self._length(_Plan(frozenset(self.droppable), _SHORTEST))

    def plan(self, room: int) -> _Plan | None:
        """Return the plan for at most ``room`` characters that leaves out the fewest turns and keeps the longest texts.

        None if no plan is short enough.
        """
        if self.least > room:
            return None
        low, high = 0, len(self.droppable)
        while low < high:
            middle = (low + high) // 2
            if self._length(_Plan(frozenset(self.droppable[:middle]), _SHORTEST)) > room:
                low = middle + 1
            else:
                high = middle
        dropped = frozenset(self.droppable[:high])
        texts = [len(one.text) for one in self.blocks if one.turn not in dropped and one.can_be_cut]
        return _Plan(dropped, _equal_share(texts, room - self._length(_Plan(dropped)) + sum(texts)))

    def _length(self, plan: _Plan) -> int:
        kept = (one for one in self.blocks if one.turn not in plan.dropped)
        gaps = sum(turn - 1 not in plan.dropped for turn in plan.dropped) * self.gap
        return gaps + sum(one.length - max(0, len(one.text) - plan.cap) * one.can_be_cut for one in kept)

    def written(self, plan: _Plan, marker: str) -> tuple[str, tuple[str, ...]]:
        """Return the text shortened by a plan, and a line for each kind of gap in it."""
        written: list[str] = []
        cuts: list[int] = []
        dropped = characters = 0
        for is_dropped, run in groupby(self.blocks, lambda one: one.turn in plan.dropped):
            blocks = list(run)
            if is_dropped:
                turns, size = len({one.turn for one in blocks}), sum(one.length - one.images for one in blocks)
                written.append(f"{marker} {_turns_gap(turns, size)}\n")
                dropped, characters = dropped + turns, characters + size
                continue
            for one in blocks:
                text, missing = _cut(one.text, plan.cap, f"{marker} ") if one.can_be_cut else (one.text, 0)
                written.append(f"{one.before}{text}{one.after}")
                cuts += [missing] * bool(missing)
        gaps = [f"{sum(cuts):,} characters of {len(cuts)} text{'s' * (len(cuts) > 1)} left out"] if cuts else []
        gaps += [_turns_gap(dropped, characters).strip("… ")] if dropped else []
        return "".join(written), tuple(gaps)


def _turns_gap(turns: int, characters: int) -> str:
    return f"… {turns:,} turn{'s' * (turns > 1)} ({characters:,} characters) left out …"


def _equal_share(lengths: Sequence[int], room: int) -> int:
    """Return the largest limit per text at which texts of these ``lengths`` take at most ``room`` characters together.

    Texts shorter than the limit leave the rest of their share to longer ones.
    """
    left, ascending = room, sorted(lengths)
    for place, length in enumerate(ascending):
        share = left // (len(ascending) - place)
        if length > share:
            return share
        left -= length
    return _UNLIMITED


def _length(parts: Iterable[Part]) -> int:
    return sum(_IMAGE if isinstance(part, Image) else len(part) for part in parts)


def _outline(
    parts: Sequence[Part],
    view: RenderedGroup,
    candidate: Candidate | None = None,
    *,
    whole: Iterable[str] = (),
    is_answered: bool = True,
) -> _Outline:
    """Return the blocks of a candidate's transcript, or of the head, whose exhibits ``whole`` are never cut.

    What is said before the agent's first message is the task, and its last text is its answer: both stay as they are.
    An answer in the head may be cut if all candidates have one of their own (``is_answered``).
    """
    blocks, roles = _parsed(parts, view.marker)
    turns: list[int] = []
    for role in roles:  # tool results belong to the turn of their call
        turns.append(turns[-1] + (role != "tool") if turns else 0)
    answers = [
        one.number
        for one in blocks
        if one.number >= 0 and roles[one.number] == "assistant" and one.word in _ANSWERS and (one.text or one.see)
    ]
    answer = -1 if candidate is None and is_answered else max(answers, default=-1)
    stay = {turns[answer] if answer >= 0 else -1, max(turns, default=-1)}
    if candidate is not None:
        begun = any(message["role"] == "assistant" for message in candidate.messages[: view.prefix_length])
        first = 0 if begun else roles.index("assistant") if "assistant" in roles else len(roles)
        stay |= {turns[number] for number in range(first) if roles[number] != "tool"}

    def stays_whole(message: _Block) -> bool:
        is_answer = message.number == answer and message.word in _ANSWERS
        return roles[message.number] not in {"assistant", "tool"} or message.word in _UNCUT or is_answer

    exhibits = {*whole, *(one.see for one in blocks if one.number >= 0 and stays_whole(one))}
    outlined = []
    for one in blocks:
        can_be_cut = one.exhibit not in exhibits if one.number < 0 else not stays_whole(one)
        turn = turns[one.number] if candidate is not None and one.number >= 0 else -1
        is_text = IMAGE not in one.text and (one.number >= 0 or bool(one.exhibit))
        outlined.append(replace(one, turn=turn, can_be_cut=can_be_cut and is_text))
    last = max(turns, default=0)
    droppable = sorted(set(turns) - stay, key=lambda turn: (abs(2 * turn - last), turn)) if candidate else []
    gap = len(view.marker) + _LONGEST_GAP
    return _Outline(tuple(outlined), tuple(droppable), answer >= 0, gap)


def _parsed(parts: Sequence[Part], marker: str) -> tuple[list[_Block], list[str]]:
    """Return the blocks of a transcript, and the roles of its messages."""
    blocks: list[_Block] = []
    roles: list[str] = []
    is_begun = False  # reasoning precedes the header of its message
    for text in _flat_text(parts).split(f"{marker} ")[1:]:
        header, _, rest = text.partition("\n")
        word, before = text.split(None, 1)[0], f"{header}\n"
        if word not in _LAYOUT:
            is_tool = word in {"result", "error"} or header.split(" ")[:2] in (["role", "tool"], ["role", "function"])
            role = "tool" if is_tool else "assistant" if word in {"reasoning", "call"} else word
            if word in _HEADED and is_begun:
                roles[-1] = role
            elif word in _HEADED or word == "reasoning" or (word == "call" and (not roles or roles[-1] != "assistant")):
                roles.append(role)
            is_begun = word == "reasoning"
        if word == "call":
            called = _CALL.match(text)
            before = called[0] if called else text
            rest = text[len(before) :]
        see = None if word in _ONE_LINE else _SEE.search(header)  # the agent wrote the rest of those lines
        body, after = (rest[:-1], "\n") if rest.endswith("\n") else (rest, "")
        blocks.append(
            _Block(
                f"{marker} {before}",
                body,
                after,
                word,
                -1 if word in _LAYOUT else len(roles) - 1,
                header.partition(" ")[2] if word == "exhibit" else "",
                see[1] if see else "",
                _IMAGE * len(_PLACE.findall(text)),
            )
        )
    return blocks, roles


def _least_lengths(view: RenderedGroup) -> tuple[Sequence[int], Sequence[int]]:
    """Return the lengths to which each candidate of a transcript can be cut: alone, and with the exhibits it uses."""
    outlines = [_outline(one.body, view, one) for one in view.candidates]
    whole = {one.see for outline in outlines for one in outline.blocks if not one.can_be_cut}
    exhibits = {one.exhibit: one.least for one in _outline(view.head, view, whole=whole).blocks}
    alone = [outline.least for outline in outlines]
    used = [{block.see for block in outline.blocks if block.see} for outline in outlines]
    return alone, [
        length + sum(exhibits.get(name, 0) for name in names) for length, names in zip(alone, used, strict=True)
    ]


def _without_unused_exhibits(view: RenderedGroup, shown: Iterable[int]) -> RenderedGroup:
    """Return the transcript ``view`` without exhibits that neither the head nor a candidate of ``shown`` refers to."""
    head, _ = _parsed(view.head, view.marker)
    bodies = [_parsed(view.candidates[item].body, view.marker)[0] for item in shown]
    used = {one.see for blocks in (head, *bodies) for one in blocks}
    kept = [one for one in head if not one.exhibit or one.exhibit in used]
    text = "".join(f"{one.before}{one.text}{one.after}" for one in kept)
    return replace(view, head=_parts_of_text(text, view.head))


def _cut(text: str, cap: int, marker: str) -> tuple[str, int]:
    """Cut the middle out of ``text`` so that at most ``cap`` characters remain; return the rest and the length cut."""
    if len(text) <= cap:
        return text, 0
    keep = max(0, cap - len(f"\n{marker}… {len(text):,} characters left out …\n"))
    first = _unsplittable(text, keep - keep // 2)[0]
    last = _unsplittable(text, len(text) - keep // 2)[1]
    missing = len(unescape(text[first:last]))
    return f"{text[:first]}\n{marker}… {missing:,} characters left out …\n{text[last:]}", missing


def _unsplittable(text: str, place: int) -> tuple[int, int]:
    """Return the bounds of the escape, or of the CR LF, that a cut at ``place`` would split.

    Returns ``place`` twice if nothing would be split.
    """
    if text[place - 1 : place + 1] == "\r\n" and place:
        return place - 1, place + 1
    start = max(0, place - _LONGEST_ESCAPE)
    spans = (found.span() for found in _ESCAPED.finditer(text, start, place + _LONGEST_ESCAPE))
    return next(((first, last) for first, last in spans if first < place < last), (place, place))


def _flat_text(parts: Sequence[Part]) -> str:
    """Join a transcript's ``parts`` into one text, in which placeholders replace images."""
    numbers = count()
    return "".join(part if isinstance(part, str) else f"{IMAGE}{next(numbers)}{IMAGE}" for part in parts)


def _parts_of_text(text: str, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Split such a text into a transcript's parts again. Its placeholders refer to the images of ``parts``."""
    images = [part for part in parts if isinstance(part, Image)]
    found: list[Part] = [
        images[int(piece)] if place % 2 else piece for place, piece in enumerate(_PLACE.split(text)) if piece
    ]
    return tuple(found)
