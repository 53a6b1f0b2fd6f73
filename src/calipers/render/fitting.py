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
from typing import Any

from calipers.render.escapes import unescape
from calipers.render.group import count_characters
from calipers.render.transcript import IMAGE
from calipers.types import Ask, Candidate, Failure, Image, JudgeRequest, Message, Part, RenderedGroup, Window

BYTES_PER_TOKEN = 3.0
"""The estimate of bytes per token before a server has counted any tokens, so low that it overestimates
most texts' tokens.
"""
_MIN_DENSITY, _MAX_DENSITY = 0.5, 8.0
_MIN_WINDOW, _MAX_WINDOW = 128, 100_000_000
_IMAGE_TOKENS = 1000
_MESSAGE_TOKENS = 16
_REPLY_SHARE = 4
_SAFETY_MARGIN = 0.95
_MAX_TRIES = 6
_SHORTEST = 120
"""A text is cut to no fewer characters than this, gap line included."""
_UNLIMITED = 2**62
_LONGEST_GAP = len(" … 1,000 turns (1,000,000,000 characters) left out …\n")
_LARGER = "name a judge with a larger window"

_HEADED = frozenset({"system", "user", "assistant", "developer", "role", "result", "error"})
_TOOLS = frozenset({"result", "error"})
_ANSWERS = frozenset({"assistant", "text", "refusal", "image"})
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
    when shortened is omitted, so that the others are judged. Returns Unfit (``context_window``, with the sizes) if no
    question remains. If ``window`` is None, the window is unknown, and ``request`` is returned.
    """
    if window is None:
        return Fitted(request)
    question = _Question(request, window, frame)
    if question.tokens_needed <= question.tokens_allowed:
        return Fitted(request)
    view, ask = request.view, request.ask
    shown = question.shortened(view, ask, range(len(view.candidates)))
    return Fitted(shown) if shown is not None else question.without_the_longest()


@dataclass(frozen=True, slots=True)
class _Question:
    """A question and the context window that it has to fit."""

    request: JudgeRequest
    window: Window
    frame: Frame

    @property
    def tokens_allowed(self) -> int:
        """Return the number of tokens in the window that are not reserved for the reply."""
        most, limit = self.window.tokens // _REPLY_SHARE, self.request.max_tokens
        return self.window.tokens - (most if limit is None else min(limit, most))

    @property
    def tokens_needed(self) -> int:
        """Return the estimated number of tokens of the whole question."""
        return estimated_tokens(self.request, self.window.bytes_per_token)

    @property
    def tokens_around(self) -> float:
        """Return the estimated number of tokens around the transcript: instructions, rubric and output format."""
        view = self.request.view
        parts = (*view.head, *(part for item in self.request.ask.order for part in view.candidates[item].body))
        images = sum(isinstance(part, Image) for part in parts)
        return self.tokens_needed - _bytes(parts) / self.window.bytes_per_token - _IMAGE_TOKENS * images

    def size_for(self, items: Iterable[int]) -> int:
        """Return how many characters the transcript's head and the candidates ``items`` may have together."""
        return self._characters(self.tokens_allowed - self.tokens_around, items)

    @property
    def image(self) -> int:
        """Return the number of characters that takes as many tokens as an image."""
        return self._characters(_IMAGE_TOKENS, self.request.ask.order)

    def _characters(self, tokens: float, items: Iterable[int]) -> int:
        """Return how many characters have ``tokens``, from the average number of bytes of the characters shown."""
        view = self.request.view
        every = (*view.head, *(part for item in items for part in view.candidates[item].body))
        return int(tokens * self.window.bytes_per_token * count_characters(every) / max(1, _bytes(every)))

    def shortened(self, view: RenderedGroup, ask: Ask, items: Sequence[int]) -> JudgeRequest | None:
        """Return the question ``ask`` with the candidates ``items`` of ``view`` shortened so that it fits the window.

        None if that is impossible.
        """
        size, count, around = self.size_for(items), len(ask.order), self.tokens_around
        for tried in range(_MAX_TRIES):
            shorter = shorten_group(view, size, shown=count, among=items, image=self.image) if size > 0 else None
            if shorter is None:
                return None
            shown = self.frame(ask, shorter)
            estimated = estimated_tokens(shown, self.window.bytes_per_token)
            if estimated <= self.tokens_allowed:
                return shown
            # What is left may have more bytes per character than what went, so later tries take more off.
            size = int(size * (self.tokens_allowed - around) / (estimated - around) * (1 - tried / 50)) - 1
        return None

    def without_the_longest(self) -> Fitted | Unfit:
        """Return the question about as many of its candidates as fit the window; the longest are omitted first."""
        view, ask = self.request.view, self.request.ask
        least_of, needs = _minimum_lengths(view, self.image)
        real = [item for item in ask.order if view.candidates[item].members]
        least = 1 if view.rubrics else min(2, len(real))  # with fewer candidates there is nothing to compare
        left = list(ask.order)
        for victim in (None, *sorted(set(real) & set(ask.members), key=lambda item: (-needs[item], item))):
            left = [item for item in left if item != victim]
            members = tuple(item for item in ask.members if item in left)
            if len(set(left) & set(real)) < least or not members:
                break
            if sum(least_of[item] for item in left) > self.size_for(left):
                continue
            about = replace(ask, members=members, order=tuple(left))
            shown = self.shortened(_without_unused_exhibits(view, left), about, sorted(left))
            if shown is not None:
                gone = [item for item in ask.order if item not in left]
                return Fitted(shown, {item: self._too_long(item, needs[item], len(left)) for item in gone})
        return self._unfit(real, needs)

    def _too_long(self, item: int, need: int, others: int) -> str:
        """Return why a candidate is too long to be shown beside ``others`` other candidates, and the remedy."""
        has_images = any(isinstance(part, Image) for part in self.request.view.candidates[item].body)
        reason = (
            f"it is too long for the judge's context window of {self.window.tokens} tokens"
            f"{f' beside {others} other{chr(115) * (others > 1)}' if others else ''}: {need:,} characters of it, "
            f"{f'an image counted as {self.image:,}, and ' * has_images}including its last answer, are never left out"
        )
        if others and need <= self.size_for([item]):
            return f"{reason}. Show fewer at once (protocol='pointwise', at_once=), or {_LARGER}"
        return f"{reason}. {_LARGER.capitalize()}, or limit how long the policy's answers get"

    def _unfit(self, real: Sequence[int], needs: Sequence[int]) -> Unfit:
        """Return the failure, which names the longest part of the question: instructions, what all share, or who."""
        view, ask = self.request.view, self.request.ask
        head = _outline(_without_unused_exhibits(view, ()).head, view, image=self.image).least
        victim = max(set(real) & set(ask.members), key=lambda item: (needs[item], -item), default=None)
        around = self.tokens_around * self.window.bytes_per_token
        omitted: dict[int, str] = {}
        if around > max(head, 0 if victim is None else needs[victim]):
            cause = (
                f"the instructions and the rubric around the candidates, about {int(self.tokens_around)} tokens, are "
                "too long. Shorten the rubric"
            )
        elif victim is None or head > needs[victim]:
            cause = f"what all candidates share, {head:,} characters of task and tools, is too long. Shorten it"
        else:
            omitted = {victim: self._too_long(victim, needs[victim], len(ask.order) - 1)}
            names = ", ".join(repr(view.ids[member]) for member in view.candidates[victim].members)
            cause = f"without {names}, which is too long, too little is left to compare"
            if len(ask.order) == 1:
                cause = omitted[victim].partition(". ")[0]
        sizes = (
            f"The question has about {self.tokens_needed} tokens and does not fit a context window of "
            f"{self.window.tokens}, of which {self.window.tokens - self.tokens_allowed} are reserved for the reply, "
            "even with its longest texts cut"
        )
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


def shorten_group(
    view: RenderedGroup, size: int, *, shown: int, among: Sequence[int], image: int = 0
) -> RenderedGroup | None:
    """Return the transcript ``view``, shortened so that its head and any ``shown`` of the candidates ``among`` have at
    most ``size`` characters. An image counts as ``image`` characters.

    None if it cannot be shortened enough, and the same object if it fits. What all candidates share is shortened too if
    it takes more than half of ``size``. ``Candidate.messages``, ``Candidate.elided`` and ``RenderedGroup.warnings``
    state the gaps.
    """
    lengths = sorted((_length(view.candidates[item].body, image) for item in among), reverse=True)[:shown]
    if _length(view.head, image) + sum(lengths) <= size:
        return view
    outlines = {item: _outline(view.candidates[item].body, view, view.candidates[item], image) for item in among}
    head = _outline(view.head, view, image=image)
    kept = {name for one in (head, *outlines.values()) for name in one.kept_exhibits}
    head = replace(
        head, blocks=tuple(replace(one, can_be_cut=False) if one.exhibit in kept else one for one in head.blocks)
    )
    plan = head.plan(max(size // 2, size - sum(lengths))) or head.plan(head.least)
    if plan is None:
        return None
    short_head = head.written(plan, view.marker)
    short_parts = _parts_of_text(short_head[0], view.head)
    share = _equal_share(lengths, size - _length(short_parts, image))
    candidates = list(view.candidates)
    for item, outline in outlines.items():
        own = outline.plan(share)
        if own is None:
            return None
        candidate, (text, gaps) = view.candidates[item], outline.written(own, view.marker)
        candidates[item] = replace(
            candidate,
            messages=_cut_messages(candidate.messages, plan, own, outline, view),
            body=_parts_of_text(text, candidate.body),
            elided=(*candidate.elided, *gaps),
        )
    warnings = (*view.warnings, *(f"shared by all: {gap}" for gap in short_head[1]))
    return replace(view, head=short_parts, warnings=warnings, candidates=tuple(candidates))


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


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a transcript is shortened: the turns left out, and the longest text in characters."""

    dropped: frozenset[int] = frozenset()
    cap: int = _UNLIMITED


@dataclass(frozen=True, slots=True)
class _Block:
    """One block of a transcript: layout ``before``, a ``text`` that may be cut, and its line end ``after``.

    ``turn`` is -1 in the head. ``exhibit`` is the name of the exhibit that the block defines, ``see`` of the one that
    it refers to. ``images`` is what its images add to its length.
    """

    before: str
    text: str
    after: str
    can_be_cut: bool
    turn: int = -1
    exhibit: str = ""
    see: str = ""
    images: int = 0

    @property
    def length(self) -> int:
        return len(self.before) + len(self.text) + len(self.after) + self.images

    @property
    def least(self) -> int:
        return self.length - max(0, len(self.text) - _SHORTEST) * self.can_be_cut


@dataclass(frozen=True, slots=True)
class _Outline:
    """The blocks of a candidate's transcript or of the head. ``droppable`` turns may go, in this order.

    ``turns`` are those of the candidate's own messages, and ``answer`` is the number of the last answer among them.
    """

    blocks: tuple[_Block, ...]
    droppable: tuple[int, ...] = ()
    gap: int = 0
    turns: tuple[int, ...] = ()
    answer: int = -1

    @property
    def least(self) -> int:
        """Return the least number of characters to which it can be shortened, without the exhibits of the head."""
        return self._length(_Plan(frozenset(self.droppable), _SHORTEST))

    @property
    def kept_exhibits(self) -> set[str]:
        """Return the exhibits that stand for a text that is never cut."""
        return {one.see for one in self.blocks if one.see and not one.can_be_cut}

    def plan(self, room: int) -> _Plan | None:
        """Return the plan for at most ``room`` characters that leaves out the fewest turns and keeps the longest texts.

        None if no plan is short enough.
        """
        turns = self.droppable
        if self.least > room:
            return None
        low, high = 0, len(turns)
        while low < high:
            middle = (low + high) // 2
            if self._length(_Plan(frozenset(turns[:middle]), _SHORTEST)) > room:
                low = middle + 1
            else:
                high = middle
        dropped = frozenset(turns[:high])
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


def _length(parts: Iterable[Part], image: int) -> int:
    return sum(image if isinstance(part, Image) else len(part) for part in parts)


def _outline(
    parts: Sequence[Part], view: RenderedGroup, candidate: Candidate | None = None, image: int = 0
) -> _Outline:
    """Return the blocks of a candidate's transcript, or of the head.

    What is said before the agent's first message is the task, and its last text is its answer: both stay as they are.
    """
    texts = _flat_text(parts).split(f"{view.marker} ")[1:]
    words = [text.split(None, 1)[0] for text in texts]
    numbers, roles = _messages(texts, words)
    turns: list[int] = []
    for role in roles:  # tool results belong to the turn of their call
        turns.append(turns[-1] + (role != "tool") if turns else 0)
    answer, stay = -1, set[int]()
    if candidate is not None:
        begun = any(message["role"] == "assistant" for message in candidate.messages[: view.prefix_length])
        first = 0 if begun else roles.index("assistant") if "assistant" in roles else len(roles)
        answered = (
            number
            for text, word, number in zip(texts, words, numbers, strict=True)
            if number >= 0 and roles[number] == "assistant" and word in _ANSWERS
            if text.partition("\n")[2] or _SEE.search(text.partition("\n")[0])
        )
        answer = max(answered, default=-1)
        task = {turns[number] for number in range(first) if roles[number] != "tool"}
        stay = task | ({turns[answer]} if answer >= 0 else set()) | {max(turns, default=-1)}
    blocks = tuple(
        replace(
            _block(text, word, view.marker, roles[number] if number >= 0 else "", is_answer=0 <= answer == number),
            images=image * len(_PLACE.findall(text)),
        )
        for text, word, number in zip(texts, words, numbers, strict=True)
    )
    if candidate is None:
        return _Outline(blocks)
    blocks = tuple(
        replace(one, turn=turns[number] if number >= 0 else -1) for one, number in zip(blocks, numbers, strict=True)
    )
    last = max(turns, default=0)
    droppable = sorted(set(turns) - stay, key=lambda turn: (abs(2 * turn - last), turn))
    return _Outline(blocks, tuple(droppable), len(view.marker) + _LONGEST_GAP, tuple(turns), answer)


def _messages(texts: Sequence[str], words: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the number of each block's message (-1: none), and the roles of the messages."""
    numbers: list[int] = []
    roles: list[str] = []
    is_begun = False  # reasoning precedes the header of its message
    for text, word in zip(texts, words, strict=True):
        if word in {"offered", "no", "marks", "tools", "context:", "exhibit"}:
            numbers.append(-1)
            continue
        header = text.partition("\n")[0].split(" ")
        is_tool = word in _TOOLS or (word == "role" and header[1:2] in (["tool"], ["function"]))
        if word in _HEADED and is_begun:
            roles[-1] = "tool" if is_tool else word
        elif word in _HEADED or word == "reasoning":
            roles.append("tool" if is_tool else "assistant" if word == "reasoning" else word)
        elif word == "call" and not is_begun and (not roles or roles[-1] != "assistant"):
            roles.append("assistant")
        is_begun = word == "reasoning"
        numbers.append(len(roles) - 1)
    return numbers, roles


def _block(text: str, word: str, marker: str, role: str, *, is_answer: bool) -> _Block:
    """Return a block whose text is the arguments of a call, or the lines after the header line."""
    header, _, rest = text.partition("\n")
    before = f"{header}\n"
    if word == "call":
        called = _CALL.match(text)
        before = called[0] if called else text
        rest = text[len(before) :]
    see = None if word in {"call", "fields", "part"} else _SEE.search(header)  # the agent wrote the rest of those lines
    can_be_cut = (
        word in {"reasoning", "call", "exhibit"}
        or (role == "tool" and word in {*_TOOLS, "text", "role"})
        or (role == "assistant" and word in _ANSWERS and word != "image" and not is_answer)
    )
    body, after = (rest[:-1], "\n") if rest.endswith("\n") else (rest, "")
    return _Block(
        f"{marker} {before}",
        body,
        after,
        can_be_cut and IMAGE not in body,
        exhibit=header.partition(" ")[2] if word == "exhibit" else "",
        see=see[1] if see else "",
    )


def _minimum_lengths(view: RenderedGroup, image: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return the lengths to which each candidate of a transcript can be cut: alone, and with the exhibits it uses."""
    outlines = [_outline(one.body, view, one, image) for one in view.candidates]
    kept = {name for one in outlines for name in one.kept_exhibits}
    exhibits = {
        one.exhibit: one.length if one.exhibit in kept else one.least
        for one in _outline(view.head, view, image=image).blocks
        if one.exhibit
    }
    used = [{block.see for block in one.blocks} for one in outlines]
    alone = [one.least for one in outlines]
    return alone, [
        length + sum(exhibits.get(name, 0) for name in names) for length, names in zip(alone, used, strict=True)
    ]


def _without_unused_exhibits(view: RenderedGroup, shown: Iterable[int]) -> RenderedGroup:
    """Return the transcript ``view`` without exhibits that neither the head nor a candidate of ``shown`` refers to."""
    head = _outline(view.head, view)
    bodies = [_outline(view.candidates[item].body, view, view.candidates[item]) for item in shown]
    used = {block.see for outline in (head, *bodies) for block in outline.blocks}
    kept = [one for one in head.blocks if not one.exhibit or one.exhibit in used]
    text = "".join(f"{one.before}{one.text}{one.after}" for one in kept)
    return replace(view, head=_parts_of_text(text, view.head))


def _cut_messages(
    messages: Sequence[Message], shared: _Plan, own: _Plan, outline: _Outline, view: RenderedGroup
) -> tuple[Message, ...]:
    """Return a candidate's messages with the gaps of its text, for those that read messages and no transcript."""
    found: list[Message] = [_cut_message(message, shared.cap) for message in messages[: view.prefix_length]]
    gone = 0
    for number, message in enumerate(messages[view.prefix_length :]):
        if outline.turns[number : number + 1] and outline.turns[number] in own.dropped:
            found += [{"role": "left_out", "content": "… turns left out …"}] if not gone else []
            gone += 1
            continue
        gone = 0
        found.append(message if number == outline.answer else _cut_message(message, own.cap))
    return tuple(found)


def _cut_message(message: Message, cap: int) -> Message:
    if message["role"] not in {"assistant", "tool"}:
        return message
    texts = {key: text for key, text in message.items() if key in {"content", "reasoning"} and isinstance(text, str)}
    calls: list[Any] = [
        {**call, "function": {**call["function"], "arguments": _cut(call["function"]["arguments"], cap)[0]}}
        if isinstance(call.get("function"), Mapping) and isinstance(call["function"].get("arguments"), str)
        else call
        for call in message.get("tool_calls", ())
    ]
    return {**message, **{key: _cut(text, cap)[0] for key, text in texts.items()}} | (
        {"tool_calls": calls} if calls else {}
    )


def _cut(text: str, cap: int, marker: str = "") -> tuple[str, int]:
    """Cut the middle out of ``text`` so that at most ``cap`` characters remain; return the rest and the length cut."""
    if len(text) <= cap:
        return text, 0
    keep = max(0, cap - len(f"\n{marker}… {len(text):,} characters left out …\n"))
    first = _unsplittable(text, keep - keep // 2)[0]
    last = _unsplittable(text, len(text) - keep // 2)[1]
    missing = len(unescape(text[first:last])) if marker else last - first
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
