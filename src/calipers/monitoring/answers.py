"""Reduce a judge's answer to the parts that health metrics need, small enough for thousands of answers in memory."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from calipers.types import (
    Canary,
    Candidate,
    Cause,
    Completion,
    JudgeRequest,
    Message,
    Outcome,
    Rating,
    Reading,
    RenderedGroup,
    Usage,
)

_AT_START: Final = re.compile(r" {0,3}(?:#{1,6} |[-*+] |\d{1,3}[.)] |>|```|\|)")
_ANYWHERE: Final = re.compile(rf"^{_AT_START.pattern}|\*\*[^*\n]+\*\*|`[^`\n]+`", re.MULTILINE)
_FOLLOW_UPS: Final[frozenset[Cause]] = frozenset({"missing", "doubt", "truncated", "window", "canary", "substitute"})


@dataclass(frozen=True, slots=True)
class Shape:
    """The length and formatting of a candidate: how many characters it wrote itself, and how many markdown marks."""

    ids: tuple[str, ...]
    characters: int
    marks: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A judge's answer: its question, how the reply was read, its judgments, its cost.

    ``ratings`` are (candidate, position from ``by_relative_position``, value from 0 to 1). ``shapes`` describe all
    candidates, and are present for the first question about a group only. ``latency`` is in seconds; ``recorded`` means
    that the answer came out of a ledger. ``served`` is the model, and its version, that the server names in its reply.
    """

    group_id: str
    slot: int
    presentation: int
    cause: Cause
    outcome: Outcome
    truncated: bool
    ratings: tuple[tuple[int, float, float], ...]
    shapes: tuple[Shape, ...]
    canary: Canary | None
    usage: Usage
    latency: float
    attempts: int
    recorded: bool = False
    served: str = ""

    @property
    def is_follow_up(self) -> bool:
        """Whether an earlier answer caused this answer's question, for example a re-ask for missing scores."""
        return self.cause in _FOLLOW_UPS

    @property
    def is_unreadable(self) -> bool:
        """Whether no judgment could be read in the reply. A verdict rejected because a canary won was readable."""
        return self.outcome == "rejected" and not (self.canary is not None and self.canary.won)


def answer_for_metrics(request: JudgeRequest, completion: Completion, reading: Reading) -> Answer:
    """Return what an observer receives (request, completion, reading), reduced to what health metrics need."""
    ask = request.ask
    ratings = [judgment for judgment in reading.judgments if isinstance(judgment, Rating)]
    return Answer(
        request.view.group_id,
        ask.slot,
        ask.number if ask.presentation is None else ask.presentation,
        ask.cause,
        reading.outcome,
        reading.truncated,
        by_relative_position((rating.item, rating.place, rating.value) for rating in ratings),
        candidate_shapes(request.view) if ask.cause == "first" else (),
        reading.canary,
        completion.usage,
        completion.latency,
        completion.attempts,
        completion.recorded,
        sys.intern(" ".join(part for part in (completion.model, completion.fingerprint) if part)),
    )


def by_relative_position(ratings: Iterable[tuple[int, int, float]]) -> tuple[tuple[int, float, float], ...]:
    """Return an answer's ratings for health metrics: positions become relative to the last one that was rated, 1."""
    every = tuple(ratings)
    last = max((place for _, place, _ in every), default=0) or 1
    return tuple((item, place / last, value) for item, place, value in every)


def candidate_shapes(view: RenderedGroup) -> tuple[Shape, ...]:
    """Return the length and formatting of each candidate of a group for health metrics, without canaries."""
    return tuple(_shape(candidate, view) for candidate in view.candidates if candidate.members)


def _shape(candidate: Candidate, view: RenderedGroup) -> Shape:
    texts = [message_text(message) for message in candidate.messages[view.prefix_length :]]
    marks = sum(map(markdown_marks, texts))
    return Shape(tuple(view.ids[member] for member in candidate.members), sum(map(len, texts)), marks)


def markdown_marks(text: str) -> int:
    """Return how many markdown marks a candidate's text has, for health metrics: headings, bullets, bold text, code."""
    if "**" in text or "`" in text:
        return sum(1 for _ in _ANYWHERE.finditer(text))
    return sum(1 for line in text.split("\n") if _AT_START.match(line))


def message_text(message: Message) -> str:
    """Return the text of a chat message's content for health metrics, without images."""
    content: Any = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content or () if isinstance(part, dict))
