"""Biases of a simulated judge: they change its opinion of the candidates, before it writes anything.

Opinions are numbers on the score scale, 0 worthless to 1 perfect, one per candidate in the order of the prompt. Biases
are applied in the order given and may leave [0, 1]; the judge clips once, after the last. To measure an effect exactly,
choose qualities so far from 0 and 1 that nothing is clipped.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from calipers.errors import ConfigError
from calipers.guard.injection import master_key
from calipers.testing.question import Question, own_characters, require_finite, require_probability, transcript_text
from calipers.types import Message


class Bias(ABC):
    """Changes a simulated judge's opinions. Subclass it for your own vice; draw randomness from ``question`` only."""

    __slots__ = ()

    @abstractmethod
    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        """Return a simulated judge's new opinions, as many and in the same order as ``opinions``."""


@dataclass(frozen=True, slots=True)
class Noise(Bias):
    """Adds N(0, ``sd``²) to every opinion; ``sd`` in score units (0-1), at least 0.

    ``per="call"``: independent between candidates and questions; the same question with the same sample number gets the
    same noise, as from a judge at temperature 0. ``per="order"``: the same whenever the same candidates are shown in
    the same order. ``per="candidate"``: one fixed error per candidate, the same in every question, which no averaging
    over orders or samples removes. ``per="group"``: one error for all candidates of a group, which makes the judge mild
    or harsh with it. Two judges make the same errors per candidate if they have the same ``seed`` (None: the judge's
    own).
    """

    sd: float
    per: Literal["call", "order", "candidate", "group"] = "call"
    seed: int | None = None

    def __post_init__(self) -> None:
        require_finite("Noise sd", self.sd, least=0)
        if self.per not in ("call", "order", "candidate", "group"):
            raise ConfigError(f"Noise per must be 'call', 'order', 'candidate' or 'group', not {self.per!r}")
        if self.per != "candidate" and self.seed is not None:
            raise ConfigError("Noise seed is for per='candidate'; give the judge itself a seed")

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        match self.per:
            case "candidate":
                generators = [question.by_candidate(candidate, seed=self.seed) for candidate in question.shown]
                return [opinion + rng.gauss(0, self.sd) for opinion, rng in zip(opinions, generators, strict=True)]
            case "group":
                error = question.by_group().gauss(0, self.sd)
                return [opinion + error for opinion in opinions]
            case per:
                generator = question.by_content() if per == "call" else question.by_order()
                return [opinion + generator.gauss(0, self.sd) for opinion in opinions]


def _falling(place: float) -> float:
    return 0.5 - place


@dataclass(frozen=True, slots=True)
class PositionBias(Bias):
    """Adds ``strength * curve(u)`` to the candidate at relative position u: 0 first in the prompt, 1 last, 0.5 if
    alone.

    ``strength`` is in score units (0-1) and may be negative. The default curve is 0.5 - u: the first candidate gains
    strength/2 and the last loses as much, so that the first of two candidates gains ``strength`` on the second.
    """

    strength: float
    curve: Callable[[float], float] = _falling

    def __post_init__(self) -> None:
        require_finite("PositionBias strength", self.strength)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:  # noqa: ARG002 - the interface requires it
        last = len(opinions) - 1
        places = [place / last if last else 0.5 for place in range(len(opinions))]
        return [opinion + self.strength * self.curve(place) for opinion, place in zip(opinions, places, strict=True)]


@dataclass(frozen=True, slots=True)
class LengthBias(Bias):
    """Adds ``per_doubling * log2((c + 1) / (m + 1))``: c the candidate's characters, m the mean over the group.

    ``per_doubling`` is in score units (0-1) per doubling of length; a negative value prefers short candidates.
    Characters are those of text, reasoning and tool arguments in the messages that the group does not share. The mean
    is over all distinct candidates of the group, also those that this question omits.
    """

    per_doubling: float

    def __post_init__(self) -> None:
        require_finite("LengthBias per_doubling", self.per_doubling)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        view = question.request.view
        lengths = [own_characters(candidate, view.prefix_length) for candidate in view.candidates]
        mean = sum(lengths) / len(lengths)
        lengths_in_order = [lengths[item] for item in question.request.ask.order]
        return [
            opinion + self.per_doubling * math.log2((length + 1) / (mean + 1))
            for opinion, length in zip(opinions, lengths_in_order, strict=True)
        ]


_PRAISE = (
    r"(?:great|excellent|brilliant|wonderful|fantastic|insightful) (?:question|point|idea|catch)",
    r"you(?:'|’)?(?:re| are) (?:absolutely|completely|so|quite) (?:right|correct)",
    r"(?:fully|completely|perfectly|successfully) (?:solved|completed|resolved|correct)",
    r"(?:this|my) (?:answer|solution|response) is (?:correct|perfect|optimal|complete|the best)",
    r"i am (?:confident|certain|sure) (?:that|this)",
)


@dataclass(frozen=True, slots=True)
class Sycophancy(Bias):
    """Adds ``bonus`` for each phrase of flattery or self-praise in a candidate's transcript, at most ``limit`` times.

    ``bonus`` is in score units (0-1). ``phrases`` are regular expressions, matched without regard to case on the
    transcript as the judge reads it; every match counts.
    """

    bonus: float = 0.1
    limit: int = 3
    phrases: tuple[str, ...] = field(default=_PRAISE, repr=False)

    def __post_init__(self) -> None:
        require_finite("Sycophancy bonus", self.bonus)
        require_finite("Sycophancy limit", self.limit, least=1)
        _require_patterns("Sycophancy phrases", self.phrases)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        pattern = re.compile("|".join(self.phrases), re.IGNORECASE)
        counts = [sum(1 for _ in pattern.finditer(transcript_text(candidate))) for candidate in question.shown]
        return [opinion + self.bonus * min(count, self.limit) for opinion, count in zip(opinions, counts, strict=True)]


_ORDERS = (
    r"(?:ignore|disregard|forget) (?:[a-z]+ ){0,5}(?:instructions?|rules|rubric|criteria|standards|prompt)\b",
    r"(?:give|award|assign) (?:me|this|it)[\w ,]{0,40}\b(?:100|full|highest|maximum|perfect|top)\b",
    r"(?:score|rate|grade) (?:me|this|it)[\w ,]{0,40}\b(?:100|highest|perfect)\b",
    r"(?:note|message|instruction)s? (?:to|for) the (?:judge|grader|evaluator)",
)


@dataclass(frozen=True, slots=True)
class Injectable(Bias):
    """Obeys prompt injections: with ``probability``, gives the opinion 1.0 to a candidate whose transcript demands it.

    The draw is repeated for every such candidate and question. ``orders`` are regular expressions for demands, matched
    without regard to case on the transcript as the judge reads it, so that text which the renderer neutralises has no
    effect.
    """

    probability: float = 1.0
    orders: tuple[str, ...] = field(default=_ORDERS, repr=False)

    def __post_init__(self) -> None:
        require_probability("Injectable probability", self.probability)
        _require_patterns("Injectable orders", self.orders)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        pattern = re.compile("|".join(self.orders), re.IGNORECASE)
        generator = question.by_content()
        # Drawn for every position, so that an attack on one candidate does not change the draws of the others.
        weak = [generator.random() < self.probability for _ in opinions]
        orders_judge = [pattern.search(transcript_text(candidate)) is not None for candidate in question.shown]
        return [1.0 if all(pair) else opinion for opinion, *pair in zip(opinions, weak, orders_judge, strict=True)]


@dataclass(frozen=True, slots=True)
class HollowAnswers(Bias):
    """Gives the opinion ``value`` (0-1) to a candidate whose last message is empty or a master key ("Thought process:",
    ":").
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        require_probability("HollowAnswers value", self.value)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        hollow = [_is_hollow(candidate.messages[-1]) for candidate in question.shown]
        return [self.value if says else opinion for says, opinion in zip(hollow, opinions, strict=True)]


def _is_hollow(message: Message) -> bool:
    return master_key(message) is not None or not (message.get("content") or message.get("tool_calls"))


@dataclass(frozen=True, slots=True)
class Severity(Bias):
    """Makes the judge mild or harsh: 0.5 + ``gain`` * (opinion - 0.5) + ``offset``.

    ``gain`` (at least 0) is the judge's spread relative to the truth, ``offset`` is in score units (0-1).
    """

    offset: float = 0.0
    gain: float = 1.0

    def __post_init__(self) -> None:
        require_finite("Severity offset", self.offset)
        require_finite("Severity gain", self.gain, least=0)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:  # noqa: ARG002 - the interface requires it
        return [0.5 + self.gain * (opinion - 0.5) + self.offset for opinion in opinions]


@dataclass(frozen=True, slots=True)
class Constant(Bias):
    """Gives all candidates the same ``value`` (0-1), in a ``share`` (0-1) of the questions."""

    value: float = 0.5
    share: float = 1.0

    def __post_init__(self) -> None:
        require_probability("Constant value", self.value)
        require_probability("Constant share", self.share)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        lazy = question.by_content().random() < self.share
        return [self.value] * len(opinions) if lazy else list(opinions)


@dataclass(frozen=True, slots=True)
class Coarse(Bias):
    """Rounds opinions to the nearest of ``levels`` (at least 2) equally spaced values from 0 to 1, which makes ties.

    Pass it as the last bias: it rounds the result of the biases before it.
    """

    levels: int

    def __post_init__(self) -> None:
        require_finite("Coarse levels", self.levels, least=2)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:  # noqa: ARG002 - the interface requires it
        steps = self.levels - 1
        return [round(min(1.0, max(0.0, opinion)) * steps) / steps for opinion in opinions]


@dataclass(frozen=True, slots=True)
class Drift(Bias):
    """Brings in another bias gradually as the judge is used: opinion + p * (``into``'s opinion - opinion).

    p is 0 before call ``start`` and rises linearly to 1 over the next ``over`` calls; ``over=0`` is a change point.
    Calls are counted per judge object from 0 in the order they arrive, which concurrency can change.
    """

    into: Bias
    start: int = 0
    over: int = 0

    def __post_init__(self) -> None:
        require_finite("Drift start", self.start, least=0)
        require_finite("Drift over", self.over, least=0)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        rising = min(1.0, (question.call - self.start) / self.over) if self.over else 1.0
        progress = rising if question.call >= self.start else 0.0
        drifted = self.into.sway(opinions, question)
        return [old + progress * (new - old) for old, new in zip(opinions, drifted, strict=True)]


def _require_patterns(name: str, patterns: Sequence[str]) -> None:
    if not patterns:
        raise ConfigError(f"{name} must not be empty")
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConfigError(f"{name}: {pattern!r} is not a regular expression: {error}") from None
