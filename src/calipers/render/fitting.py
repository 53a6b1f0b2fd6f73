"""Makes a question fit a judge's context window.

Tokens are estimated from UTF-8 bytes, because the number of bytes per token varies less between scripts than the number
of characters per token. Servers' own token counts correct the estimate. ``elision`` chooses what is left out, and
``protocols`` frame the questions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from calipers.render.elision import minimum_lengths, minimum_lengths_fit, shorten_group, without_unused_exhibits
from calipers.render.group import count_characters
from calipers.types import Ask, Failure, Image, JudgeRequest, Part, RenderedGroup, Window

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
    shown = question.shortened()
    return Fitted(shown) if shown is not None else _without_the_longest(question)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question and the context window that it has to fit."""

    request: JudgeRequest
    window: Window
    frame: Frame

    @property
    def tokens_allowed(self) -> int:
        """Return the number of tokens in the window that are not reserved for the reply."""
        return self.window.tokens - _reply_room(self.request, self.window)

    @property
    def tokens_needed(self) -> int:
        """Return the estimated number of tokens of the whole question."""
        return estimated_tokens(self.request, self.window.bytes_per_token)

    @property
    def tokens_around(self) -> float:
        """Return the estimated number of tokens around the transcript: instructions, rubric and output format."""
        view, ask = self.request.view, self.request.ask
        parts = (*view.head, *(part for item in ask.order for part in view.candidates[item].body))
        return self.tokens_needed - _bytes(parts) / self.window.bytes_per_token

    def size_for(self, items: Iterable[int]) -> int:
        """Return how many characters the transcript's head and the candidates ``items`` may have together.

        The number follows from the average number of bytes of their characters.
        """
        view, density = self.request.view, self.window.bytes_per_token
        every = (*view.head, *(part for item in items for part in view.candidates[item].body))
        return int(
            (self.tokens_allowed - self.tokens_around) * density * count_characters(every) / max(1, _bytes(every))
        )

    def shortened(self, among: Sequence[int] | None = None) -> JudgeRequest | None:
        """Return the question with transcripts of candidates shortened so that it fits the window. None if that is
        impossible.

        ``among``: ask only about these candidates.
        """
        view, ask = self.request.view, self.request.ask
        size = self.size_for(range(len(view.candidates)) if among is None else among)
        if among is not None:
            ask = _about(ask, among)
            view = without_unused_exhibits(view, among)
        for _ in range(_MAX_TRIES):
            shorter = shorten_group(view, size, shown=len(ask.order), among=among) if size > 0 else None
            if shorter is None:
                return None
            shown = self.frame(ask, shorter)
            estimated = estimated_tokens(shown, self.window.bytes_per_token)
            if estimated <= self.tokens_allowed:
                return shown
            size = int(size * self.tokens_allowed / estimated) - 1
        return None


def _about(ask: Ask, items: Collection[int]) -> Ask:
    return replace(
        ask,
        members=tuple(item for item in ask.members if item in items),
        order=tuple(item for item in ask.order if item in items),
    )


def _without_the_longest(question: _Question) -> Fitted | Unfit:
    """Return the question about as many of its candidates as fit the window. The longest candidates
    are omitted first.
    """
    view, ask = question.request.view, question.request.ask
    head, needs = minimum_lengths(view)
    real = [item for item in ask.order if view.candidates[item].members]
    least = 1 if view.rubrics else min(2, len(real))  # with fewer candidates there is nothing to compare
    dropped: list[int] = []
    for victim in (None, *sorted(set(real) & set(ask.members), key=lambda item: (-needs[item], item))):
        dropped += [] if victim is None else [victim]
        left = [item for item in ask.order if item not in dropped]
        if len(set(left) & set(real)) < least or not set(left) & set(ask.members):
            break
        if minimum_lengths_fit(head, [needs[item] for item in left], question.size_for(left)):
            shown = question.shortened(left)
            if shown is not None:
                return Fitted(shown, {item: _too_long(question, item, needs, head, len(left)) for item in dropped})
    return _unfit(question, head, needs)


def _too_long(question: _Question, item: int, needs: Sequence[int], head: int, others: int) -> str:
    """Return why a candidate is too long to be shown beside ``others`` other candidates, and the remedy."""
    beside = f" beside {others} other{'s' * (others > 1)}" if others else ""
    reason = (
        f"it is too long for the judge's context window of {question.window.tokens} tokens{beside}: {needs[item]:,} "
        "characters of it, including its last answer, are never left out"
    )
    if others and head + needs[item] <= question.size_for([item]):
        return f"{reason}. Show fewer at once (protocol='pointwise', at_once=), or {_LARGER}"
    return f"{reason}. {_LARGER.capitalize()}, or limit how long the policy's answers get"


_LARGER = "name a judge with a larger window"


def _unfit(question: _Question, head: int, needs: Sequence[int]) -> Unfit:
    view, ask, window = question.request.view, question.request.ask, question.window
    sizes = (
        f"The question has about {question.tokens_needed} tokens and does not fit a context window of "
        f"{window.tokens}, of which {window.tokens - question.tokens_allowed} are reserved for the reply, "
        "even with its longest texts cut"
    )

    def unfit(cause: str, omitted: Mapping[int, str] | None = None) -> Unfit:
        return Unfit(Failure("context_window", f"{sizes}: {cause}"), omitted or {})

    real = [item for item in ask.members if item in ask.order and view.candidates[item].members]
    around = question.tokens_around
    # The instructions take more than half of the window, and more than the texts that could be shortened.
    longest = max((head, *(needs[item] for item in real)))
    if around * 2 > question.tokens_allowed and around * window.bytes_per_token > longest:
        return unfit(
            f"the instructions and the rubric around the candidates, about {int(around)} tokens, are too long. "
            f"Shorten the rubric, or {_LARGER}"
        )
    if head > question.size_for(()) or not real:
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


def _reply_room(request: JudgeRequest, window: Window) -> int:
    most = window.tokens // _REPLY_SHARE
    return most if request.max_tokens is None else min(request.max_tokens, most)


def _bytes(parts: Iterable[Part]) -> int:
    return sum(_size(part) for part in parts if not isinstance(part, Image))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
