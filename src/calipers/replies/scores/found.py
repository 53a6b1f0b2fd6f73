"""The data types for reading scores: a stated scale, a score or why it was not read, and the scores of part of a reply.

``selection`` decides which part of the reply counts. ``scales`` checks that its numbers are on the scale asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from calipers.replies.rejected import Rejected
from calipers.types import Outcome

UNCLEAR: Final = "unclear"
UPSIDE_DOWN: Final = "upside down"
ABSURD: Final = 1e6
"""A larger number is an error of the decoder and no score on another scale."""
WHOLE_LINE: Final = 1_000_000
"""A column number that is greater than the length of any line."""


@dataclass(frozen=True, slots=True)
class StatedScale:
    """A scale from ``low`` to ``high`` that a reply states. ``low`` is 0 unless ``both`` ends were stated.

    ``statistic``: the words, such as ``max_score``, may also mean the largest score that was given.
    """

    low: float
    high: float
    both: bool = True
    statistic: bool = field(default=False, compare=False)

    def convert_number(self, number: float, asked: tuple[float, float]) -> float:
        """Convert an extracted score from this scale to the scale ``asked`` for. It stays unchanged if both scales have
        the same top.
        """
        low, high = asked
        if self.high == high and (self.low == low or not self.both):
            return number
        return low + (number - self.low) * (high - low) / (self.high - self.low)

    def changes(self, numbers: Sequence[float], asked: tuple[float, float]) -> bool:
        """Whether all extracted scores lie on this scale and at least one would change on the scale asked for."""
        changed = any(abs(self.convert_number(number, asked) - number) > 1e-9 for number in numbers)
        return changed and all(self.low <= number <= self.high for number in numbers)

    def agrees(self, other: StatedScale) -> bool:
        """Whether another scale extracted from a reply is the same. An end that was not stated matches any end."""
        return self.high == other.high and (self.low == other.low or not (self.both and other.both))


Scale: TypeAlias = StatedScale | Literal["unclear", "upside down"]


@dataclass(frozen=True, slots=True)
class Value:
    """A score that was read: its ``number`` on the scale asked for, and the scale that the reply states for it.

    A score without a stated scale is called bare. ``raw`` is the number on the stated scale, if it could also be a
    fraction of the whole scale (``0.9/100``).
    """

    number: float
    stated: StatedScale | None = field(default=None, compare=False)
    raw: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Unread:
    """The reason why a score could not be read. ``cut``: the text ended inside it. ``empty``: no score was written."""

    reason: str
    cut: bool = False
    empty: bool = False


Score: TypeAlias = Value | Unread

TOO_LARGE = Unread("the score is absurdly large")
OFF_SCALE: Final = {
    UNCLEAR: Unread("the scale of the score is not clear"),
    UPSIDE_DOWN: Unread("on its stated scale low numbers are good"),
}
_NOT_FINITE = Unread("the score is not a finite number")
_DOUBT = {
    UNCLEAR: "a scale is stated that is not clear",
    UPSIDE_DOWN: "a scale is stated on which low numbers are good",
}


def checked_score(number: float, stated: StatedScale | None = None) -> Score:
    """Return an extracted number as a score, or as Unread if it is not finite or absurdly large."""
    try:
        number = float(number)
    except OverflowError:  # an integer beyond the range of floats
        return TOO_LARGE
    if not math.isfinite(number):
        return _NOT_FINITE
    return TOO_LARGE if abs(number) > ABSURD else Value(number + 0.0, stated)


def is_same_score(one: Score | None, other: Score | None) -> bool:
    """Whether two extracted scores are equal on the scale asked for, as 80 and 80/100 are."""
    if type(one) is Value and type(other) is Value:
        return math.isclose(one.number, other.number, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


def convert_score(value: Score, scale: Scale | None, asked: tuple[float, float]) -> Score:
    """Convert an extracted bare score from ``scale``, which the reply states, to the scale asked for; leave others."""
    if scale is None or type(value) is not Value or value.stated is not None:
        return value
    if not isinstance(scale, StatedScale):
        return OFF_SCALE[scale]
    return Value(scale.convert_number(value.number, asked) + 0.0, scale, value.number)


@dataclass(slots=True)
class Found:
    """The scores that one JSON document of a reply, or the reply's prose, states.

    ``scoreless`` are ids that a row named without a score. ``positional`` are scores without ids, in order.
    ``nameless``: the document has one such score and nothing else. ``weak``: the ids were mere indices. ``plain``: the
    document has exactly the shape asked for, so it states no scale. For prose, ``head`` is the text before the first
    score, ``tail`` the text after the last score, and ``between`` the other words on the lines from the first to the
    last score. If there are ``doubts``, no score can be trusted.
    """

    values: dict[str, Score] = field(default_factory=dict)
    explanations: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    positional: list[Score] = field(default_factory=list)
    scoreless: set[str] = field(default_factory=set)
    nameless: bool = False
    weak: bool = False
    placeholders: int = 0
    head: str = ""
    tail: str = ""
    between: tuple[str, ...] = ()
    plain: bool = False

    @classmethod
    def as_asked(cls, document: Any, ids: AbstractSet[str]) -> Found | None:
        """Extract scores from a document that has exactly one of the two shapes asked for; else return None."""
        if type(document) is not dict or not document.keys() <= {"scores", "explanations"}:
            return None
        scores: Any = document.get("scores")
        numbers, texts = scores, document.get("explanations", {})
        if type(scores) is list and texts == {} and all(map(_is_row, scores)):
            numbers = {row["trajectory_id"]: row["score"] for row in scores}
            texts = {row["trajectory_id"]: row["explanation"] for row in scores}
        usual = (
            type(numbers) is dict
            and type(texts) is dict
            and len(numbers) == len(scores)
            and numbers.keys() <= ids
            and texts.keys() <= ids
            and all(type(number) is float or type(number) is int for number in numbers.values())
            and all(type(text) is str and not is_template_text(text) for text in texts.values())
        )
        return (
            cls({id_: checked_score(number) for id_, number in numbers.items()}, texts, plain=True) if usual else None
        )

    @property
    def numbers(self) -> dict[str, float]:
        """The scores that were read, by id."""
        return {id_: value.number for id_, value in self.values.items() if type(value) is Value}

    @property
    def readable(self) -> bool:
        """Whether any score was read. A part of a reply without a score is a template and no verdict."""
        return any(type(value) is Value for value in (*self.values.values(), *self.positional))

    def add(self, id_: str, value: Score) -> None:
        """Record the extracted score of an id. A second score that differs from the first is recorded as a doubt."""
        known = self.values.get(id_)
        if known is None or (type(known) is Unread and known.empty):
            self.values[id_] = value
        elif not is_same_score(known, value) and not (type(value) is Unread and value.empty):
            self.doubts.append(f"two different scores for {id_!r}")

    def explain(self, id_: str, text: Any) -> None:
        """Record the extracted explanation of an id's score, if ``text`` is a string."""
        if type(text) is str:
            self.explanations[id_] = text
            self.placeholders += is_template_text(text)

    def bare_numbers(self) -> list[float]:
        """Return the extracted scores for which no scale is stated yet."""
        every = (*self.values.values(), *self.positional)
        return [value.number for value in every if type(value) is Value and value.stated is None]

    def apply_scale(self, scale: Scale | None, asked: tuple[float, float]) -> None:
        """Convert extracted bare scores from ``scale`` to the one asked for. An unclear ``scale`` becomes a doubt."""
        if scale in (UNCLEAR, UPSIDE_DOWN):
            self.doubts.append(_DOUBT[scale])
        elif scale is not None:
            self.values = {id_: convert_score(value, scale, asked) for id_, value in self.values.items()}
            self.positional = [convert_score(value, scale, asked) for value in self.positional]

    def merge(self, other: Found) -> None:
        """Add the scores extracted from another part of the same verdict."""
        for id_, value in other.values.items():
            self.add(id_, value)
        self.explanations.update(other.explanations)
        self.doubts.extend(other.doubts)
        self.scoreless |= other.scoreless
        self.weak |= other.weak
        self.placeholders += other.placeholders


@dataclass(frozen=True, slots=True)
class Claim:
    """One verdict of scores in a reply, and its position.

    The words before the verdict begin at ``floor``, where the previous document ends. ``breaks_off``: the words after
    the verdict stop in the middle of stating a scale.
    """

    found: Found
    start: int = 0
    end: int = 0
    outcome: Outcome = "strict"
    cut: bool = False
    garbled: bool = False
    floor: int = 0
    breaks_off: bool = False

    def check(self) -> None:
        """Raise Rejected if the extracted verdict contradicts itself or has words out of place."""
        torn = next((id_ for id_ in self.found.scoreless if type(self.found.values.get(id_)) is Value), None)
        if self.found.doubts or torn is not None or self.garbled:
            inside = "words out of place inside the verdict"
            inside = inside if torn is None else f"one row with a score and one without for {torn!r}"
            raise Rejected(next(iter(self.found.doubts), inside), doubt=True, truncated=self.cut)


@dataclass(frozen=True, slots=True)
class Statement:
    """One score that prose states: an id, the score as written, and whether the score is at the very end of the text.

    The statement is on the lines from ``begin`` to ``line`` (only ``line`` if ``begin`` is negative) and ends before
    column ``end`` of the last line. ``scale`` is a scale that the reply states for this score but not beside the
    number.
    """

    id_: str
    written: str
    at_end: bool = False
    final: bool = False
    stopped: bool = False
    line: int = -1
    begin: int = -1
    end: int = WHOLE_LINE
    scale: Scale | None = None


def _is_row(row: Any) -> bool:
    """Whether a JSON row of a score has exactly the fields asked for."""
    fields = {"trajectory_id", "explanation", "score"}
    return type(row) is dict and row.keys() == fields and type(row["trajectory_id"]) is str


_TEMPLATE_TEXT = re.compile(r"\s*(?:<.{1,60}>|\{.{0,60}\}|\[.{1,40}\]|\.{2,}|…|string|str)\s*", re.IGNORECASE)


def is_template_text(text: str) -> bool:
    """Whether the extracted explanation of a score is a template's placeholder: ``...``, ``<why>``."""
    return len(text) <= 64 and _TEMPLATE_TEXT.fullmatch(text) is not None
