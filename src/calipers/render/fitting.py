"""Whether a question fits a judge's context window, and the question that does.

Tokens are estimated from UTF-8 bytes, which servers' own counts teach (``density``): bytes vary less between scripts
than characters. Pure. Not responsible for what is left out (``elision``) nor for how a question is framed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from calipers.render.elision import fewest, fits, shorten, without_unseen
from calipers.render.question import characters
from calipers.types import Ask, Failure, Image, JudgeRequest, Part, RenderedGroup, Window

BYTES_PER_TOKEN = 3.0
"""Before anything is learned: little enough that most texts have fewer tokens than supposed."""
_FEWEST_BYTES, _MOST_BYTES = 0.5, 8.0
_SMALLEST, _LARGEST = 128, 100_000_000
_IMAGE_TOKENS = 1000
_MESSAGE_TOKENS = 16
_REPLY_SHARE = 4
_PRUDENCE = 0.95
_TRIES = 6

Frame = Callable[[Ask, RenderedGroup], JudgeRequest]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A question that fits. ``omitted``: why those of its candidates that it is not about are too long."""

    request: JudgeRequest
    omitted: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why there is none. ``omitted`` are the candidates that are too long; nobody, where what all share is."""

    failure: Failure
    omitted: Mapping[int, str] = field(default_factory=dict)


def fitted(request: JudgeRequest, window: Window | None, frame: Frame) -> Fitted | Unfit:
    """``request``, or the same question about shortened candidates where it would not fit ``window``.

    Room is kept for the reply: its token limit, but at most a quarter of the window. A candidate that is too long however
    it is shortened is not shown, so that the others are judged. Unfit (``context_window``, with the sizes) where nothing
    is left to ask about. ``window`` None: nothing is known, so nothing is done.
    """
    if window is None:
        return Fitted(request)
    question = _Question(request, window, frame)
    if question.needed <= question.allowed:
        return Fitted(request)
    shown = question.shortened()
    return Fitted(shown) if shown is not None else _without_the_longest(question)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question, and what it may have of a window."""

    request: JudgeRequest
    window: Window
    frame: Frame

    @property
    def allowed(self) -> int:
        """Tokens of the window that are not kept for the reply."""
        return self.window.tokens - _reply_room(self.request, self.window)

    @property
    def needed(self) -> int:
        """Tokens of the whole question, about."""
        return tokens(self.request, self.window.bytes_per_token)

    @property
    def around(self) -> float:
        """Tokens of what is neither head nor candidates: instructions, rubric, form."""
        view, ask = self.request.view, self.request.ask
        parts = (*view.head, *(part for item in ask.order for part in view.candidates[item].body))
        return self.needed - _bytes(parts) / self.window.bytes_per_token

    def size(self, items: Iterable[int]) -> int:
        """Characters that the head and the candidates ``items`` may have, by how many bytes theirs take.

        What stands around them takes what it does in the whole question.
        """
        view, density = self.request.view, self.window.bytes_per_token
        every = (*view.head, *(part for item in items for part in view.candidates[item].body))
        return int((self.allowed - self.around) * density * characters(every) / max(1, _bytes(every)))

    def shortened(self, among: Sequence[int] | None = None) -> JudgeRequest | None:
        """The question that fits, about the candidates ``among`` alone where they are given; None where there is none."""
        view, ask = self.request.view, self.request.ask
        size = self.size(range(len(view.candidates)) if among is None else among)
        if among is not None:
            ask = _about(ask, among)
            view = without_unseen(view, among)
        for _ in range(_TRIES):
            shorter = shorten(view, size, shown=len(ask.order), among=among) if size > 0 else None
            if shorter is None:
                return None
            shown = self.frame(ask, shorter)
            estimated = tokens(shown, self.window.bytes_per_token)
            if estimated <= self.allowed:
                return shown
            size = int(size * self.allowed / estimated) - 1
        return None


def _about(ask: Ask, items: Collection[int]) -> Ask:
    return replace(
        ask,
        members=tuple(item for item in ask.members if item in items),
        order=tuple(item for item in ask.order if item in items),
    )


def _without_the_longest(question: _Question) -> Fitted | Unfit:
    """The question about as many of its candidates as fit, the longest left out first."""
    view, ask = question.request.view, question.request.ask
    head, needs = fewest(view)
    real = [item for item in ask.order if view.candidates[item].members]
    least = 1 if view.rubrics else min(2, len(real))  # with fewer there is nothing to compare
    dropped: list[int] = []
    for victim in (None, *sorted(set(real) & set(ask.members), key=lambda item: (-needs[item], item))):
        dropped += [] if victim is None else [victim]
        left = [item for item in ask.order if item not in dropped]
        if len(set(left) & set(real)) < least or not set(left) & set(ask.members):
            break
        if fits(head, [needs[item] for item in left], question.size(left)):
            shown = question.shortened(left)
            if shown is not None:
                return Fitted(shown, {item: _too_long(question, item, needs, head, len(left)) for item in dropped})
    return _unfit(question, head, needs)


def _too_long(question: _Question, item: int, needs: Sequence[int], head: int, others: int) -> str:
    """Why a candidate is not shown beside ``others``, and what would help."""
    beside = f" beside {others} other{'s' * (others > 1)}" if others else ""
    said = (
        f"it is too long for the judge's context window of {question.window.tokens} tokens{beside}: {needs[item]:,} characters "
        "of it, its last answer among them, are never left out"
    )
    if others and head + needs[item] <= question.size([item]):
        return f"{said}. Show fewer at once (protocol='pointwise', at_once=), or {_LARGER}"
    return f"{said}. {_LARGER.capitalize()}, or bound how long the policy's answers get"


_LARGER = "name a judge with a larger window"


def _unfit(question: _Question, head: int, needs: Sequence[int]) -> Unfit:
    view, ask, window = question.request.view, question.request.ask, question.window
    said = (
        f"The question has about {question.needed} tokens and does not fit a context window of {window.tokens}, of which "
        f"{window.tokens - question.allowed} are kept for the reply, even with the middles of its longest texts left out"
    )
    real = [item for item in ask.members if item in ask.order and view.candidates[item].members]
    around = question.around
    # More than half of the window, and more than there is of anything else that could be shortened.
    if around * 2 > question.allowed and around * window.bytes_per_token > max(
        head, *(needs[item] for item in real), 0
    ):
        cause = (
            f"what stands around the candidates, about {int(around)} tokens of instructions and rubric, is too long. "
            f"Shorten the rubric, or {_LARGER}"
        )
        return Unfit(Failure("context_window", f"{said}: {cause}"))
    if head > question.size(()) or not real:
        cause = (
            f"what all candidates share, {head:,} characters of task and tools, is too long. Shorten it, or {_LARGER}"
        )
        return Unfit(Failure("context_window", f"{said}: {cause}"))
    if len(ask.order) == 1:
        why = _too_long(question, real[0], needs, head, 0)
        return Unfit(Failure("context_window", f"{said}: {why}"), {real[0]: why})
    longest = max(real, key=lambda item: (needs[item], -item))
    names = ", ".join(repr(view.ids[member]) for member in view.candidates[longest].members)
    why = _too_long(question, longest, needs, head, len(ask.order) - 1)
    cause = f"without {names}, which is too long, too little is left to compare"
    return Unfit(Failure("context_window", f"{said}: {cause}. {_LARGER.capitalize()}"), {longest: why})


def tokens(request: JudgeRequest, bytes_per_token: float) -> int:
    """About how many tokens a question has."""
    text, images = measured(request)
    return int(text / bytes_per_token) + 1 + _IMAGE_TOKENS * images + _MESSAGE_TOKENS * len(request.messages)


def measured(request: JudgeRequest) -> tuple[int, int]:
    """The UTF-8 bytes of a question's text, and its images."""
    total = images = 0
    for message in request.messages:
        content = message["content"]
        for part in [{"text": content}] if isinstance(content, str) else content:
            if "text" in part:
                total += _size(part["text"])
            else:
                images += 1
    return total, images


def window_told(request: JudgeRequest, limit: int | None, prompt: int | None, before: Window | None) -> Window | None:
    """What a server's refusal teaches: its ``limit``, and how dense ``request`` was with its ``prompt`` tokens.

    None where the server did not say a limit that can be true.
    """
    if limit is None or not _SMALLEST <= limit <= _LARGEST:
        return None
    text, images = measured(request)
    if prompt and not images:
        density = text / prompt * _PRUDENCE
    else:
        # It did not fit, so it has at least as many tokens as the limit.
        density = min(text / limit * _PRUDENCE, before.bytes_per_token if before else BYTES_PER_TOKEN)
    return Window(limit if before is None else min(limit, before.tokens), bounded(density))


def bounded(bytes_per_token: float) -> float:
    """A density that can be true."""
    return min(max(bytes_per_token, _FEWEST_BYTES), _MOST_BYTES)


def _reply_room(request: JudgeRequest, window: Window) -> int:
    most = window.tokens // _REPLY_SHARE
    return most if request.max_tokens is None else min(request.max_tokens, most)


def _bytes(parts: Iterable[Part]) -> int:
    return sum(_size(part) for part in parts if not isinstance(part, Image))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
