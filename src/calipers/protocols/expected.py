"""Scores as expectations: the mean over the digits a judge might have written, by the log-probabilities of its server.

One digit from 0 to 9 is one token to every tokenizer, so its probabilities are those of the scores; of a number with
two digits, servers report alternatives to the second digit after the first that was written only. The question asks for
digits and nothing else: after an explanation in writing, nearly all probability lies on one number. Not responsible for
requesting log-probabilities from a server (``params``) or for reading its tokens (``backends.transport.logprobs``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Final

from calipers.extract import ScoreReading
from calipers.extract.text import strip_reasoning
from calipers.protocols.decisions import spreads_in
from calipers.protocols.listwise import Listwise
from calipers.protocols.pairwise import Pairwise
from calipers.protocols.pointwise import Pointwise
from calipers.protocols.question import ScoreProtocol
from calipers.protocols.reading import REFUSED, SCALE, ScoredReply, rejected
from calipers.types import Ask, Completion, JudgeRequest, Logprobs, RenderedGroup

TOP: Final = 9
"""The highest digit."""

LEAST: Final = 0.5
"""The share of the probability that must lie on digits; below, the number is read as it was written."""

ASKED: Final = {"logprobs": True, "top_logprobs": 20}
"""The parameters that request log-probabilities; most servers report 20 alternatives at most."""

_ALTERNATIVE = re.compile(r"[\s\":]*([0-9])(?![0-9.])")
"""A token that is a level: it may begin with the marks before the number, and end with those behind it."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The ``mean`` level of one score by the judge's probabilities, and its standard deviation ``spread``, both from 0
    to 9.

    ``mass`` is the share of the probability that lay on the ten digits; the rest is omitted from the mean.
    """

    mean: float
    spread: float
    mass: float

    @property
    def words(self) -> str:
        """The same in words, for an explanation."""
        shown = f"level {self.mean:.2f} of {TOP}, standard deviation {self.spread:.2f}"
        return f"{shown}; {self.mass:.0%} of the probability on digits"


class _Expected(ScoreProtocol):
    """A protocol's question, asked for digits, and its answer read as expectations. The first base class, before the
    protocol.
    """

    __slots__ = ()
    top = TOP

    after = """\
How to score: one digit for each attempt, from 0 (worthless) to 9 (could not be better); 5 does half of what the task \
asks. A better attempt gets a higher digit; equal digits are for attempts of equal worth. The order and the names of \
the attempts are random and mean nothing."""

    answer = """\
Answer with one JSON object and nothing else, and do not explain: under "scores", the digit of each attempt, keyed by \
its name."""

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest:
        """The question, with the parameters that request log-probabilities."""
        # An anchor is stated as a digit, and that digit is what the answer is compared with.
        anchors = tuple((item, round(value * TOP) / TOP) for item, value in ask.anchors)
        request = super().frame(replace(ask, anchors=anchors) if anchors else ask, view)
        return replace(request, params={**ASKED, **self.params})

    def fields(self, keys: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """No explanations."""
        return (), keys

    def scores(self, request: JudgeRequest, completion: Completion) -> ScoredReply:
        """What the reply, and the probabilities with it, say of each candidate shown."""
        if completion.finish_reason == "refused":
            return ScoredReply(request, rejected(request.keys, REFUSED))
        plain = self.scores_of(request.keys, completion)
        if spreads := spreads_in(completion, request.keys):  # of a decision endpoint, whose scores are means already
            return ScoredReply(request, _on_scale(plain, plain.scores), spreads)
        found = expectations(completion.text, completion.logprobs or (), plain.scores)
        sure = {key: one for key, one in found.items() if one.mass >= LEAST}
        reading = replace(
            _on_scale(plain, plain.scores | {key: one.mean for key, one in sure.items()}),
            explanations=plain.explanations | {key: one.words for key, one in sure.items()},
        )
        spreads = {key: one.spread / TOP for key, one in sure.items()}
        return ScoredReply(request, reading, spreads, tuple(_notes(completion, plain, sure)))


def _on_scale(reading: ScoreReading, levels: Mapping[str, float]) -> ScoreReading:
    return replace(reading, scores={key: SCALE[1] * level / TOP for key, level in levels.items()})


def expectations(text: str, logprobs: Logprobs, levels: Mapping[str, float]) -> dict[str, Expectation]:
    """The expectation of the digit that ``text`` gives each key of ``levels``; keys whose digit cannot be found are
    omitted.

    A digit belongs to the key right before it, which occurs once after the judge's reasoning, and must be the level
    that was read.
    """
    found = {}
    answer = strip_reasoning(text) or text  # some servers leave reasoning in the text, and drafts in the reasoning
    after = len(text) - len(answer) if text.endswith(answer) else 0
    for key, level in levels.items():
        scored = re.compile(rf'\b{re.escape(key)}\b["\s]*[:=]\s*"?([0-9])(?![0-9.])')
        matches = list(scored.finditer(text, after))
        if len(matches) != 1 or float(matches[0][1]) != level:
            continue
        expectation = _expectation(text, logprobs, matches[0].start(1))
        if expectation is not None:
            found[key] = expectation
    return found


def _expectation(text: str, logprobs: Logprobs, at: int) -> Expectation | None:
    """The expectation of the digit at position ``at``; None where no token with log-probabilities holds it."""
    for begins, alternatives in logprobs:
        written = next((token for token, _ in alternatives if text.startswith(token, begins)), "")
        if begins <= at < begins + len(written):
            return _mean(alternatives)
    return None


def _mean(alternatives: Sequence[tuple[str, float]]) -> Expectation | None:
    """Mean and standard deviation over the alternatives that are a level."""
    levels = [(int(digit[1]), math.exp(one)) for token, one in alternatives if (digit := _ALTERNATIVE.match(token))]
    mass = math.fsum(share for _, share in levels)
    if mass <= 0:
        return None
    mean = math.fsum(level * share for level, share in levels) / mass
    square = math.fsum((level - mean) ** 2 * share for level, share in levels) / mass
    return Expectation(mean, math.sqrt(square), min(mass, 1.0))


def _notes(completion: Completion, plain: ScoreReading, sure: Sized) -> Iterator[str]:
    if len(sure) == len(plain.scores):
        return
    if completion.logprobs is None:
        yield "expected=True, but the judge's server returned no log-probabilities: scores are the digits as written"
    else:
        yield (
            f"log-probabilities could not be used where less than {LEAST:.0%} of the probability was on digits, or the "
            "tokens did not match the reply: scores are the digits as written"
        )


class ExpectedListwise(_Expected, Listwise):
    """All candidates in one question; the probabilities of a digit depend on the digits before it."""

    __slots__ = ()


class ExpectedPairwise(_Expected, Pairwise):
    """Two candidates in each question; the margin is the difference of their expected scores."""

    __slots__ = ()


class ExpectedPointwise(_Expected, Pointwise):
    """One candidate in each question."""

    __slots__ = ()
