"""Makes a question fit a judge's context window.

Tokens are estimated from UTF-8 bytes, which vary less between scripts than characters; servers' own token counts
correct the estimate. Not responsible for choosing what is left out (``elision``) nor for framing questions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from calipers.render.elision import fits, minimum_lengths, shorten, without_unused_exhibits
from calipers.render.group import characters
from calipers.types import Ask, Failure, Image, JudgeRequest, Part, RenderedGroup, Window

BYTES_PER_TOKEN = 3.0
"""The estimate before anything is learned: so low that most texts have fewer tokens than estimated."""
_MIN_DENSITY, _MAX_DENSITY = 0.5, 8.0
_MIN_WINDOW, _MAX_WINDOW = 128, 100_000_000
_IMAGE_TOKENS = 1000
_MESSAGE_TOKENS = 16
_REPLY_SHARE = 4
_SAFETY_MARGIN = 0.95
_MAX_TRIES = 6

Frame = Callable[[Ask, RenderedGroup], JudgeRequest]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A question that fits. ``omitted`` maps the candidates that it leaves out as too long to the reason."""

    request: JudgeRequest
    omitted: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why no question fits. ``omitted`` maps candidates that are too long, if any, to the reason."""

    failure: Failure
    omitted: Mapping[int, str] = field(default_factory=dict)


def fitted(request: JudgeRequest, window: Window | None, frame: Frame) -> Fitted | Unfit:
    """``request``, or the same question about shortened candidates where it would not fit ``window``.

    The reply's token limit is reserved, but at most a quarter of the window. A candidate that is too long even when
    shortened is left out, so that the others are judged. Returns Unfit (``context_window``, with the sizes) where
    nothing is left to ask about. ``window`` None: the window is unknown, and ``request`` is returned.
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
    """A question and the context window that it has to fit."""

    request: JudgeRequest
    window: Window
    frame: Frame

    @property
    def allowed(self) -> int:
        """Tokens of the window that are not reserved for the reply."""
        return self.window.tokens - _reply_room(self.request, self.window)

    @property
    def needed(self) -> int:
        """The estimated tokens of the whole question."""
        return tokens(self.request, self.window.bytes_per_token)

    @property
    def around(self) -> float:
        """Estimated tokens outside head and candidates: instructions, rubric, output format."""
        view, ask = self.request.view, self.request.ask
        parts = (*view.head, *(part for item in ask.order for part in view.candidates[item].body))
        return self.needed - _bytes(parts) / self.window.bytes_per_token

    def size(self, items: Iterable[int]) -> int:
        """How many characters the head and the candidates ``items`` may have, by the bytes their characters take."""
        view, density = self.request.view, self.window.bytes_per_token
        every = (*view.head, *(part for item in items for part in view.candidates[item].body))
        return int((self.allowed - self.around) * density * characters(every) / max(1, _bytes(every)))

    def shortened(self, among: Sequence[int] | None = None) -> JudgeRequest | None:
        """The question that fits, restricted to the candidates ``among`` if given; None if there is none."""
        view, ask = self.request.view, self.request.ask
        size = self.size(range(len(view.candidates)) if among is None else among)
        if among is not None:
            ask = _about(ask, among)
            view = without_unused_exhibits(view, among)
        for _ in range(_MAX_TRIES):
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
    """The question about as many of its candidates as fit; the longest are left out first."""
    view, ask = question.request.view, question.request.ask
    head, needs = minimum_lengths(view)
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
    """Why a candidate is not shown beside ``others``, and the remedy."""
    beside = f" beside {others} other{'s' * (others > 1)}" if others else ""
    reason = (
        f"it is too long for the judge's context window of {question.window.tokens} tokens{beside}: {needs[item]:,} "
        "characters of it, including its last answer, are never left out"
    )
    if others and head + needs[item] <= question.size([item]):
        return f"{reason}. Show fewer at once (protocol='pointwise', at_once=), or {_LARGER}"
    return f"{reason}. {_LARGER.capitalize()}, or limit how long the policy's answers get"


_LARGER = "name a judge with a larger window"


def _unfit(question: _Question, head: int, needs: Sequence[int]) -> Unfit:
    view, ask, window = question.request.view, question.request.ask, question.window
    sizes = (
        f"The question has about {question.needed} tokens and does not fit a context window of {window.tokens}, of "
        f"which {window.tokens - question.allowed} are reserved for the reply, even with its longest texts cut"
    )

    def unfit(cause: str, omitted: Mapping[int, str] | None = None) -> Unfit:
        return Unfit(Failure("context_window", f"{sizes}: {cause}"), omitted or {})

    real = [item for item in ask.members if item in ask.order and view.candidates[item].members]
    around = question.around
    # More than half of the window, and more than anything else that could be shortened.
    longest = max((head, *(needs[item] for item in real)))
    if around * 2 > question.allowed and around * window.bytes_per_token > longest:
        return unfit(
            f"the instructions and the rubric around the candidates, about {int(around)} tokens, are too long. "
            f"Shorten the rubric, or {_LARGER}"
        )
    if head > question.size(()) or not real:
        return unfit(
            f"what all candidates share, {head:,} characters of task and tools, is too long. Shorten it, or {_LARGER}"
        )
    victim = max(real, key=lambda item: (needs[item], -item))
    why = _too_long(question, victim, needs, head, len(ask.order) - 1)
    if len(ask.order) == 1:
        return unfit(why, {victim: why})
    names = ", ".join(repr(view.ids[member]) for member in view.candidates[victim].members)
    cause = f"without {names}, which is too long, too little is left to compare"
    return unfit(f"{cause}. {_LARGER.capitalize()}", {victim: why})


def tokens(request: JudgeRequest, bytes_per_token: float) -> int:
    """The estimated tokens of a question."""
    text, images = text_and_images(request)
    return int(text / bytes_per_token) + 1 + _IMAGE_TOKENS * images + _MESSAGE_TOKENS * len(request.messages)


def text_and_images(request: JudgeRequest) -> tuple[int, int]:
    """The UTF-8 bytes of a question's text, and the number of its images."""
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
    """The context window that a server's refusal reveals: its ``limit`` and, from ``prompt`` tokens, its density.

    None where the server states no plausible limit.
    """
    if limit is None or not _MIN_WINDOW <= limit <= _MAX_WINDOW:
        return None
    text, images = text_and_images(request)
    if prompt and not images:
        density = text / prompt * _SAFETY_MARGIN
    else:
        # The question was too long, so it has at least as many tokens as the limit.
        density = min(text / limit * _SAFETY_MARGIN, before.bytes_per_token if before else BYTES_PER_TOKEN)
    return Window(limit if before is None else min(limit, before.tokens), plausible_density(density))


def plausible_density(bytes_per_token: float) -> float:
    """The nearest plausible density."""
    return min(max(bytes_per_token, _MIN_DENSITY), _MAX_DENSITY)


def _reply_room(request: JudgeRequest, window: Window) -> int:
    most = window.tokens // _REPLY_SHARE
    return most if request.max_tokens is None else min(request.max_tokens, most)


def _bytes(parts: Iterable[Part]) -> int:
    return sum(_size(part) for part in parts if not isinstance(part, Image))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
