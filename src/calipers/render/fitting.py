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
from itertools import accumulate, count, groupby

from calipers.render.escapes import unescape
from calipers.render.transcript import IMAGE, ONE_LINE
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
_LEAST_AT_ONCE = 4
_SHORTEST = 120
"""A text is cut to no fewer characters than this, gap line included."""
_UNLIMITED = 2**62
_LONGEST_GAP = len(" … 1,000 turns (1,000,000,000 characters) left out …\n")
_LARGER = "name a judge with a larger window"

_LAYOUT = frozenset({"offered", "no", "marks", "tools", "context", "exhibit"})
_HEADED = frozenset({"system", "user", "assistant", "developer", "role", "result", "error"})
_ANSWERS = frozenset({"assistant", "text", "refusal", "image"})
_UNCUT = frozenset({"image", "fields", "part"})
_SEE = re.compile(r" see (X\d+)$")
_CALL = re.compile(r'call \S+ (?:"(?:[^"\\]|\\.)*"|[^\s"{]\S*) ')
_PLACE = re.compile(f"{IMAGE}([0-9]+){IMAGE}")
# An "@" within a word is not escaped, so a cut may not make it begin a line.
_UNSPLITTABLE = re.compile(r"\\u\{[0-9a-f]{1,6}\}[@＠﹫]*|\r\n|\S[@＠﹫]+")
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
    if window is None or estimated_tokens(request, window.bytes_per_token) <= _tokens_allowed(request, window):
        return Fitted(request)
    view, ask = request.view, request.ask
    question = _Question(request, window, frame)
    # Whichever candidates a question is about, each is cut to the same length, unless somebody is too long.
    if (shown := question.shortened(ask, range(len(view.candidates)))) is not None:
        return Fitted(shown)
    real = [item for item in ask.order if view.candidates[item].members]
    fewest = 1 if view.rubrics else min(2, len(real))  # with fewer candidates there is nothing to compare
    needs = question.shortener.least
    longest_first = sorted(set(real) & set(ask.members), key=lambda item: (-needs[item], item))
    for count_omitted in range(len(longest_first)):
        omitted = longest_first[:count_omitted]
        left = tuple(item for item in ask.order if item not in omitted)
        if len(real) - count_omitted < fewest:
            break
        shorter_ask = replace(ask, members=tuple(item for item in ask.members if item in left), order=left)
        if (shown := question.shortened(shorter_ask, sorted(left))) is not None:
            return Fitted(shown, {item: question.too_long(item, len(left)) for item in omitted})
    return question.unfit(longest_first)


class _Question:
    """A question that does not fit the context window ``window``, and ways to shorten it."""

    def __init__(self, request: JudgeRequest, window: Window, frame: Frame) -> None:
        self.shortener = Shortener(request.view)
        self._request, self._window, self._frame = request, window, frame
        self._allowed = _tokens_allowed(request, window)
        self._needed = estimated_tokens(request, window.bytes_per_token)
        parts = self._parts(request.ask.order)
        images = sum(isinstance(part, Image) for part in parts)
        self._around = self._needed - _bytes(parts) / window.bytes_per_token - _IMAGE_TOKENS * images
        """The estimated number of tokens around the transcript: instructions, rubric and output format."""

    def _parts(self, items: Iterable[int]) -> list[Part]:
        view = self._request.view
        return [*view.head, *(part for item in items for part in view.candidates[item].body)]

    def _size_for(self, items: Iterable[int]) -> int:
        """Return how many characters the transcript's head and the candidates ``items`` may have together, from the
        average number of bytes of their characters.
        """
        parts = self._parts(items)
        characters = sum(len(part) for part in parts if isinstance(part, str))
        room = (self._allowed - self._around) * self._window.bytes_per_token
        return int(room * characters / max(1, _bytes(parts)))

    def shortened(self, ask: Ask, among: Sequence[int]) -> JudgeRequest | None:
        """Return the question ``ask`` with the candidates ``among`` shortened so that it fits the window.

        None if that is impossible.
        """
        size = self._size_for(among)
        for tried in range(_MAX_TRIES):
            shorter = self.shortener.shortened(size, shown=len(ask.order), among=among)
            if shorter is None:
                return None
            shown = self._frame(ask, shorter)
            estimated = estimated_tokens(shown, self._window.bytes_per_token)
            if estimated <= self._allowed:
                return shown
            # What is left may have more bytes per character than what went, so later tries take more off.
            size = int(size * (self._allowed - self._around) / (estimated - self._around) * (1 - tried / 50)) - 1
        return None

    def too_long(self, item: int, shown: int) -> str:
        """Return why a candidate is too long to be among the ``shown`` candidates, and the remedy."""
        need = self.shortener.least[item]
        reason = (
            f"it is too long for the judge's context window of {self._window.tokens} tokens: {need:,} characters of "
            "it cannot be left out, its last answer and its images among them"
        )
        if shown and need <= self._size_for([item]):
            fewer = "protocol='pointwise'" + (", at_once=" if shown > _LEAST_AT_ONCE else "")
            return f"{reason}. Show fewer at once ({fewer}), or {_LARGER}"
        return f"{reason}. {_LARGER.capitalize()}, or limit how long the policy's answers get"

    def unfit(self, longest_first: Sequence[int]) -> Unfit:
        """Return the failure, which names the longest part of the question: instructions, what all share, or who."""
        view, count_of_others = self._request.view, len(self._request.ask.order) - 1
        head = self.shortener.head(()).least
        around = f"the instructions and the rubric around the candidates, about {int(self._around)} tokens,"
        causes: list[tuple[float, str, int | None]] = [
            (self._around * self._window.bytes_per_token, f"{around} are too long. Shorten the rubric", None),
            (head, f"what all candidates share, {head:,} characters of task and tools, is too long. Shorten it", None),
        ]
        for item in longest_first[:1]:
            lost = f"without {_names(view, item)}, which is too long, too little is left to compare"
            lost = lost if count_of_others else "its only candidate is too long"
            causes.append((self.shortener.least[item], lost, item))
        _, cause, victim = max(causes, key=lambda known: known[0])
        sizes = (
            f"The question has about {self._needed} tokens. Even with its longest texts cut, it does not fit the "
            f"context window of {self._window.tokens} tokens, {self._window.tokens - self._allowed} for the reply"
        )
        omitted = {} if victim is None else {victim: self.too_long(victim, count_of_others)}
        return Unfit(Failure("context_window", f"{sizes}: {cause}. {_LARGER.capitalize()}"), omitted)


# --- sizes ---


def _tokens_allowed(request: JudgeRequest, window: Window) -> int:
    """Return the number of tokens in the window that are not reserved for the reply to the judge."""
    most, limit = window.tokens // _REPLY_SHARE, request.max_tokens
    return window.tokens - (most if limit is None else min(limit, most))


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
    density = min(max(density, _MIN_DENSITY), _MAX_DENSITY)  # what is plausible for a tokenizer
    return Window(limit if before is None else min(limit, before.tokens), density)


def _bytes(parts: Iterable[Part]) -> int:
    return sum(_size(part) for part in parts if not isinstance(part, Image))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


# --- shortening ---


class Shortener:
    """Shortens a group's transcript, in any number of ways; ``least`` are the lengths to which candidates can be cut.

    A candidate's least length includes the exhibits that it refers to, images counted as characters.
    """

    def __init__(self, view: RenderedGroup) -> None:
        self._view = view
        self._bodies = [_outline_of_body(view, candidate) for candidate in view.candidates]
        exhibits = {block.exhibit: block.least for block in self.head(range(len(self._bodies))).blocks}
        self.least = [
            body.least + sum(exhibits.get(name, 0) for name in {block.see for block in body.blocks if block.see})
            for body in self._bodies
        ]

    def head(self, shown: Iterable[int]) -> _Outline:
        """Return the head without exhibits to which none of the candidates ``shown`` refers.

        An exhibit is not cut if a text that may not be cut refers to it.
        """
        marker = self._view.marker
        blocks, _ = _parsed(self._view.head, marker)
        everything = [*blocks, *(block for item in shown for block in self._bodies[item].blocks)]
        used = {block.see for block in everything}
        whole = {block.see for block in everything if not block.can_be_cut}
        kept = [
            replace(block, can_be_cut=block.exhibit not in whole and IMAGE not in block.text)
            if block.exhibit
            else block
            for block in blocks
            if not block.exhibit or block.exhibit in used
        ]
        return _Outline(tuple(kept), (), len(marker) + _LONGEST_GAP)

    def shortened(self, size: int, *, shown: int, among: Sequence[int]) -> RenderedGroup | None:
        """Return the transcript, shortened so that its head and any ``shown`` of the candidates ``among`` have at most
        ``size`` characters.

        None if it cannot be shortened enough, and the same object if it fits. What all candidates share is shortened
        too if it takes more than half of ``size``. ``Candidate.elided`` and ``RenderedGroup.warnings`` state the gaps;
        ``Candidate.messages`` stay whole.
        """
        view, marker = self._view, self._view.marker
        lengths = sorted((_length(view.candidates[item].body) for item in among), reverse=True)[:shown]
        if _length(view.head) + sum(lengths) <= size:
            return view
        head = self.head(among)
        text, gaps = head.written(max(head.least, size // 2, size - sum(lengths)), marker)
        warnings = (*view.warnings, *(f"shared by all: {gap}" for gap in gaps))
        shared = _parts_of_text(text, view.head)
        share = _equal_share(lengths, size - _length(shared))
        candidates = list(view.candidates)
        for item in among:
            if self._bodies[item].least > share:
                return None
            text, gaps = self._bodies[item].written(share, marker)
            candidate = view.candidates[item]
            body = _parts_of_text(text, candidate.body)
            candidates[item] = replace(candidate, body=body, elided=(*candidate.elided, *gaps))
        return replace(view, head=shared, warnings=warnings, candidates=tuple(candidates))


def omission_lines(before: RenderedGroup, after: RenderedGroup, order: Iterable[int]) -> tuple[str, ...]:
    """Return a line for each gap in the transcript ``after`` shortening, in its head or in a candidate of ``order``."""
    lines = list(after.warnings[len(before.warnings) :])
    for item in sorted(order):
        candidate = after.candidates[item]
        if candidate.members:  # a canary represents no trajectory
            noun = "trajectory" if len(candidate.members) == 1 else "trajectories"
            gaps = candidate.elided[len(before.candidates[item].elided) :]
            lines += [f"{noun} {_names(before, item)}: {gap}" for gap in gaps]
    return tuple(lines)


def _names(view: RenderedGroup, item: int) -> str:
    return ", ".join(repr(view.ids[member]) for member in view.candidates[item].members)


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
    """The blocks of a candidate's transcript or of the head. ``droppable`` turns may go, in this order.

    ``gap`` is the length of the line that replaces turns next to each other.
    """

    blocks: tuple[_Block, ...]
    droppable: tuple[int, ...]
    gap: int

    @property
    def least(self) -> int:
        """Return the least number of characters to which it can be shortened, without the exhibits of the head."""
        return self._without_turns(-1)[1]

    def _without_turns(self, room: int) -> tuple[set[int], int]:
        """Return the first turns that have to go if all texts are cut as far as possible, and the length then."""
        least_of_turn: dict[int, int] = {}
        for block in self.blocks:
            least_of_turn[block.turn] = least_of_turn.get(block.turn, 0) + block.least
        dropped: set[int] = set()
        length = sum(least_of_turn.values())
        for turn in self.droppable:
            if length <= room:
                break
            gaps = 1 - (turn - 1 in dropped) - (turn + 1 in dropped)
            length += gaps * self.gap - least_of_turn.get(turn, 0)
            dropped.add(turn)
        return dropped, length

    def written(self, room: int, marker: str) -> tuple[str, tuple[str, ...]]:
        """Return the text in at most ``room`` characters, which are at least ``least``, and a line for each kind of
        gap in it.
        """
        dropped, length = self._without_turns(room)
        kept = [block for block in self.blocks if block.turn not in dropped and block.can_be_cut]
        cut_away = sum(block.length - block.least for block in kept)
        texts = [len(block.text) for block in kept]
        cap = _equal_share(texts, room - length - cut_away + sum(texts))
        written: list[str] = []
        cuts: list[int] = []
        turns = characters = 0
        for is_dropped, run in groupby(self.blocks, lambda block: block.turn in dropped):
            blocks = list(run)
            if is_dropped:
                gone, size = len({block.turn for block in blocks}), sum(block.length - block.images for block in blocks)
                written.append(f"{marker} {_turns_gap(gone, size)}\n")
                turns, characters = turns + gone, characters + size
                continue
            for block in blocks:
                text, missing = _cut(block.text, cap, f"{marker} ") if block.can_be_cut else (block.text, 0)
                written.append(f"{block.before}{text}{block.after}")
                cuts += [missing] * bool(missing)
        gaps = [f"{sum(cuts):,} characters of {len(cuts)} text{'s' * (len(cuts) > 1)} left out"] if cuts else []
        gaps += [_turns_gap(turns, characters).strip("… ")] if turns else []
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


def _outline_of_body(view: RenderedGroup, candidate: Candidate) -> _Outline:
    """Return the blocks of a candidate's transcript.

    What is said before the agent's first message is the task, and its last text is its answer: both stay as they are.
    """
    parsed, roles = _parsed(candidate.body, view.marker)
    turns = list(accumulate((role != "tool" for role in roles[1:]), initial=0))  # results belong to their call's turn
    answers = [
        block.number
        for block in parsed
        if block.number >= 0 and roles[block.number] == "assistant" and block.word in _ANSWERS
        if block.text or block.see
    ]
    answer = max(answers, default=-1)
    begun = any(message["role"] == "assistant" for message in candidate.messages[: view.prefix_length])
    first = 0 if begun else roles.index("assistant") if "assistant" in roles else len(roles)
    stay = {turns[-1], *(turns[number] for number in range(first) if roles[number] != "tool")}
    stay |= {turns[answer]} if answers else set()
    blocks = [
        replace(
            block,
            turn=turns[block.number] if block.number >= 0 else -1,
            can_be_cut=block.can_be_cut and not (block.number == answer and block.word in _ANSWERS),
        )
        for block in parsed
    ]
    droppable = sorted(set(turns) - stay, key=lambda turn: (abs(2 * turn - turns[-1]), turn))
    return _Outline(tuple(blocks), tuple(droppable), len(view.marker) + _LONGEST_GAP)


def _parsed(parts: Sequence[Part], marker: str) -> tuple[list[_Block], list[str]]:
    """Return the blocks of a transcript, and the roles of its messages.

    Texts of the agent and its tools can be cut, but no images or data.
    """
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
        see = None if word in ONE_LINE else _SEE.search(header)  # the agent wrote the rest of those lines
        body, after = (rest[:-1], "\n") if rest.endswith("\n") else (rest, "")
        number = -1 if word in _LAYOUT else len(roles) - 1
        exhibit = header.partition(" ")[2] if word == "exhibit" else ""
        images = _IMAGE * len(_PLACE.findall(text))
        blocks.append(_Block(f"{marker} {before}", body, after, word, number, exhibit, see[1] if see else "", images))
    by_agent = {number for number, role in enumerate(roles) if role in {"assistant", "tool"}}
    for place, block in enumerate(blocks):
        if block.number in by_agent and block.word not in _UNCUT and IMAGE not in block.text:
            blocks[place] = replace(block, can_be_cut=True)
    return blocks, roles


def _cut(text: str, cap: int, marker: str) -> tuple[str, int]:
    """Cut the middle out of ``text`` so that at most ``cap`` characters remain; return the rest and the length cut."""
    if len(text) <= cap:
        return text, 0
    keep = max(0, cap - len(f"\n{marker}… {len(text):,} characters left out …\n"))
    first, _ = _unsplittable(text, keep - keep // 2)
    _, last = _unsplittable(text, len(text) - keep // 2)
    missing = len(unescape(text[first:last]))
    return f"{text[:first]}\n{marker}… {missing:,} characters left out …\n{text[last:]}", missing


def _unsplittable(text: str, place: int) -> tuple[int, int]:
    """Return the bounds of what a cut at ``place`` would split and must not; else ``place`` twice."""
    for whole in _UNSPLITTABLE.finditer(text, max(0, place - _LONGEST_ESCAPE), place + _LONGEST_ESCAPE):
        if whole.start() < place < whole.end():
            return whole.span()
    return place, place


def _flat_text(parts: Sequence[Part]) -> str:
    """Join a transcript's ``parts`` into one text, in which placeholders replace images."""
    numbers = count()
    return "".join(part if isinstance(part, str) else f"{IMAGE}{next(numbers)}{IMAGE}" for part in parts)


def _parts_of_text(text: str, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Split such a text into a transcript's parts again. Its placeholders refer to the images of ``parts``."""
    images = [part for part in parts if isinstance(part, Image)]
    pieces = enumerate(_PLACE.split(text))
    return tuple(images[int(piece)] if place % 2 else piece for place, piece in pieces if piece)
