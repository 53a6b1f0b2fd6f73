"""The nouns of reading scores: a scale that is stated, a score that was read or not, and what a part of a reply states.

Nothing here knows yet whether that part counts (``selection``), nor whether its numbers are on the scale asked for
(``scales``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from calipers.extract.rejected import Rejected
from calipers.types import Outcome

UNCLEAR: Final = "unclear"
UPSIDE_DOWN: Final = "upside down"
ABSURD: Final = 1e6
"""Beyond this a number is a slip of the decoder, not an opinion on another scale."""
WHOLE_LINE: Final = 1_000_000
"""The column after anything on a line."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A scale from ``low`` to ``high``; where not ``both`` ends were stated, from 0.

    ``statistic``: the words that state it may as well mean the largest score that was given.
    """

    low: float
    high: float
    both: bool = True
    statistic: bool = field(default=False, compare=False)

    def of(self, number: float, asked: tuple[float, float]) -> float:
        """``number`` in units of the scale asked for; out of that scale's own top, a number is itself."""
        low, high = asked
        if self.high == high and (self.low == low or not self.both):
            return number
        return low + (number - self.low) * (high - low) / (self.high - self.low)

    def changes(self, numbers: Sequence[float], asked: tuple[float, float]) -> bool:
        """Whether the numbers all lie on it, and one means another thing there than on the scale asked for."""
        changed = any(abs(self.of(number, asked) - number) > 1e-9 for number in numbers)
        return changed and all(self.low <= number <= self.high for number in numbers)

    def agrees(self, other: Stated) -> bool:
        """Whether both say the same, as far as they say it."""
        return self.high == other.high and (self.low == other.low or not (self.both and other.both))


Scale: TypeAlias = Stated | Literal["unclear", "upside down"]


@dataclass(frozen=True, slots=True)
class Value:
    """``number`` is in units of the scale asked for; ``stated`` the scale that the reply states for it, if it does.

    A number without one is bare. ``raw`` is the number on the stated scale, where that may be a fraction of another.
    """

    number: float
    stated: Stated | None = field(default=None, compare=False)
    raw: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a score could not be read. ``cut`` when the text ended inside it, ``empty`` when none was written."""

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


def checked(number: float, stated: Stated | None = None) -> Score:
    """A number as a value, unless it is not finite or absurdly large."""
    try:
        number = float(number)
    except OverflowError:  # an integer beyond the range of floats
        return TOO_LARGE
    if not math.isfinite(number):
        return _NOT_FINITE
    return TOO_LARGE if abs(number) > ABSURD else Value(number + 0.0, stated)


def is_same(one: Score | None, other: Score | None) -> bool:
    """Whether two values say the same: 80 and 80/100 do."""
    if type(one) is Value and type(other) is Value:
        return math.isclose(one.number, other.number, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


def put_on(value: Score, scale: Scale | None, asked: tuple[float, float]) -> Score:
    """A bare number, once the reply is known to state its scale; anything else as it is."""
    if scale is None or type(value) is not Value or value.stated is not None:
        return value
    if not isinstance(scale, Stated):
        return OFF_SCALE[scale]
    return Value(scale.of(value.number, asked) + 0.0, scale, value.number)


@dataclass(slots=True)
class Found:
    """What one document, or the prose, states. ``doubts`` is non-empty when it cannot be trusted as a whole.

    ``scoreless`` are ids that some row named without giving a score. ``positional`` holds scores that name nobody, in order;
    ``nameless``: one such score and nothing else; ``weak``: ids were mere indices. ``plain``: the document was as asked for,
    so that no scale is stated anywhere. Of prose, ``head`` is the text before the first score, ``tail`` after the last one,
    and ``between`` what else stands on the lines from one to the other.
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
        """What a document in one of the two shapes that are asked for states, when nothing at all is unusual in it."""
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
        return cls({id_: checked(number) for id_, number in numbers.items()}, texts, plain=True) if usual else None

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that were read, by id."""
        return {id_: value.number for id_, value in self.values.items() if type(value) is Value}

    @property
    def readable(self) -> bool:
        """Whether any number was read: a block without one is a template, not a verdict."""
        return any(type(value) is Value for value in (*self.values.values(), *self.positional))

    def add(self, id_: str, value: Score) -> None:
        """Record ``value``; a second, different one is doubt."""
        known = self.values.get(id_)
        if known is None or (type(known) is Unread and known.empty):
            self.values[id_] = value
        elif not is_same(known, value) and not (type(value) is Unread and value.empty):
            self.doubts.append(f"two different scores for {id_!r}")

    def explain(self, id_: str, text: Any) -> None:
        """Record an explanation, if ``text`` is a text."""
        if type(text) is str:
            self.explanations[id_] = text
            self.placeholders += is_template_text(text)

    def bare(self) -> list[float]:
        """The numbers for which no scale is stated yet."""
        every = (*self.values.values(), *self.positional)
        return [value.number for value in every if type(value) is Value and value.stated is None]

    def restate(self, scale: Scale | None, asked: tuple[float, float]) -> None:
        """Take the bare numbers to be on ``scale``; one that is not clear is doubt."""
        if scale in (UNCLEAR, UPSIDE_DOWN):
            self.doubts.append(_DOUBT[scale])
        elif scale is not None:
            self.values = {id_: put_on(value, scale, asked) for id_, value in self.values.items()}
            self.positional = [put_on(value, scale, asked) for value in self.positional]

    def merge(self, other: Found) -> None:
        """Take over what another part of the same verdict states."""
        for id_, value in other.values.items():
            self.add(id_, value)
        self.explanations.update(other.explanations)
        self.doubts.extend(other.doubts)
        self.scoreless |= other.scoreless
        self.weak |= other.weak
        self.placeholders += other.placeholders


@dataclass(frozen=True, slots=True)
class Claim:
    """One verdict found in a reply, and where it stands.

    ``floor`` is where the words before it begin: the end of the document before. ``breaks_off``: words about a scale after it
    stop in the middle.
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
        """Raise Rejected where the verdict contradicts itself or holds words out of place."""
        torn = next((id_ for id_ in self.found.scoreless if type(self.found.values.get(id_)) is Value), None)
        if self.found.doubts or torn is not None or self.garbled:
            inside = "words out of place inside the verdict"
            inside = inside if torn is None else f"one row with a score and one without for {torn!r}"
            raise Rejected(next(iter(self.found.doubts), inside), doubt=True, truncated=self.cut)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement in prose: an id, how its score was written, and whether it stands at the very end of the text.

    It stands on the lines from ``begin`` to ``line`` (one line where ``begin`` is negative), and ends before column ``end``
    of the last. ``scale`` is stated for it elsewhere than beside the number.
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
    """Whether this is a row as it is asked for."""
    fields = {"trajectory_id", "explanation", "score"}
    return type(row) is dict and row.keys() == fields and type(row["trajectory_id"]) is str


_TEMPLATE_TEXT = re.compile(r"\s*(?:<.{1,60}>|\{.{0,60}\}|\[.{1,40}\]|\.{2,}|…|string|str)\s*", re.IGNORECASE)


def is_template_text(text: str) -> bool:
    """Whether an explanation is one of a template's: ``...``, ``<why>``."""
    return len(text) <= 64 and _TEMPLATE_TEXT.fullmatch(text) is not None
