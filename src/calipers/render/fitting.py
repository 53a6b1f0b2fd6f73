"""Whether a question fits a judge's context window, and the question that does.

Tokens are estimated from UTF-8 bytes, which servers' own counts teach (``density``): bytes vary less between scripts
than characters. Pure. Not responsible for what is left out (``elision``) nor for how a question is framed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from calipers.render.elision import shorten
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


def fitted(request: JudgeRequest, window: Window | None, frame: Frame) -> JudgeRequest | Failure:
    """``request``, or the same question about shortened candidates where it would not fit ``window``.

    Room is kept for the reply: its token limit, but at most a quarter of the window. Failure (``context_window``, with
    the sizes) when even the shortest rendering is too long. ``window`` None: nothing is known, so nothing is done.
    """
    if window is None:
        return request
    allowed = window.tokens - _reply_room(request, window)
    needed = tokens(request, window.bytes_per_token)
    if needed <= allowed:
        return request
    view, ask = request.view, request.ask
    parts = (*view.head, *(part for item in ask.order for part in view.candidates[item].body))
    around = needed - _bytes(parts) / window.bytes_per_token
    every = (*view.head, *(part for candidate in view.candidates for part in candidate.body))
    size = int((allowed - around) * window.bytes_per_token * characters(every) / max(1, _bytes(every)))
    for _ in range(_TRIES):
        shorter = shorten(view, size, shown=len(ask.order)) if size > 0 else None
        if shorter is None:
            break
        shown = frame(ask, shorter)
        estimated = tokens(shown, window.bytes_per_token)
        if estimated <= allowed:
            return shown
        size = int(size * allowed / estimated) - 1
    return Failure(
        "context_window",
        f"The question has about {needed} tokens and does not fit a context window of {window.tokens}, of which "
        f"{window.tokens - allowed} are kept for the reply, even with the middles of its longest texts left out",
    )


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
