"""Scores as expectations: the mean over the digits a judge might have written, by the probabilities its server tells.

One digit from 0 to 9 is one token to every tokenizer, so its probabilities are those of the scores; of a number with
two digits only the chosen path is told. The question asks for digits and nothing else, for after an explanation in
writing a judge is all but sure of its number. Not responsible for asking a server for probabilities (``params``) or for
what its tokens are (``backends.odds``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calipers.extract import ScoreReading, extract_scores
from calipers.extract.text import strip_reasoning
from calipers.protocols.chances import spreads_told
from calipers.protocols.listwise import Listwise
from calipers.protocols.pairwise import Pairwise
from calipers.protocols.pointwise import Pointwise
from calipers.protocols.question import (
    EVIDENCE,
    REFUSED,
    Heard,
    ScoreQuestion,
    compose_user,
    rejected,
    stated,
)
from calipers.protocols.schemas import SCALE, TOP, of_digits
from calipers.types import Ask, Completion, JudgeRequest, Logprobs, RenderedGroup

LEAST: Final = 0.5
"""The share of the probability that must lie on digits; below, the number is read as it was written."""

ASKED: Final = {"logprobs": True, "top_logprobs": 20}
"""What asks a server for probabilities; 20 alternatives are the most that most of them tell."""

_AFTER = """\
How to score: one digit for each attempt, from 0 (worthless) to 9 (could not be better); 5 does half of what the task \
asks. A better attempt gets a higher digit; equal digits are for attempts of equal worth. The order and the names of the \
attempts are random and mean nothing."""

_ANSWER = """\
Answer with one JSON object and nothing else, and do not explain: under "scores", the digit of each attempt, keyed by its \
name."""

_ALTERNATIVE = re.compile(r"[\s\":]*([0-9])(?![0-9.])")
"""A token that says a level: it may begin with the marks before the number, and end with those behind it."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What a judge's probabilities say of one score: the ``mean`` level and its ``spread``, both from 0 to 9.

    ``mass`` is the share of the probability that lay on the ten digits; the rest is left out of the mean.
    """

    mean: float
    spread: float
    mass: float

    @property
    def words(self) -> str:
        """For people."""
        return (
            f"level {self.mean:.2f} of {TOP}, give or take {self.spread:.2f}; {self.mass:.0%} of the odds on the scale"
        )


class _Expected(ScoreQuestion):
    """A protocol's question, asked for digits, and its answer read as expectations. Comes before the protocol."""

    __slots__ = ()

    def put(self, ask: Ask, view: RenderedGroup, *, before: str, after: str) -> JudgeRequest:
        """The question with instructions ``before``; how to score is the same whatever the protocol says ``after``."""
        del after
        # An anchor is stated as a digit, and that digit is what the answer is held against.
        anchors = tuple((item, round(value * TOP) / TOP) for item, value in ask.anchors)
        ask = replace(ask, anchors=anchors) if anchors else ask
        text = "\n\n".join((before, f"Standards:\n{view.rubric or self.rubric}", EVIDENCE, _AFTER, _ANSWER))
        keys, user = compose_user(ask, view, lambda keys: _closing(ask, keys))
        messages = ({"role": "system", "content": text}, {"role": "user", "content": user})
        limit = None if self.max_tokens is None else self.max_tokens * ask.max_tokens_factor
        return JudgeRequest(
            messages, keys, ask, view, of_digits(keys), limit, {**ASKED, **self.params}, TOP, self.compares
        )

    def heard(self, request: JudgeRequest, completion: Completion) -> Heard:
        """What the reply, and the probabilities with it, say of each candidate shown."""
        if completion.finish_reason == "refused":
            return Heard(request, rejected(request.keys, REFUSED))
        plain = extract_scores(
            completion.text,
            request.keys,
            scale=(0, TOP),
            out_of_range=self.out_of_range,
            finish_reason=completion.finish_reason,
        )
        if told := spreads_told(completion, request.keys):  # by a decision endpoint, whose scores are means already
            scores = {key: SCALE[1] * value / TOP for key, value in plain.scores.items()}
            return Heard(request, replace(plain, scores=scores), told)
        beliefs = believed(completion.text, completion.logprobs or (), plain.scores)
        sure = {key: one for key, one in beliefs.items() if one.mass >= LEAST}
        scores = {key: sure[key].mean if key in sure else value for key, value in plain.scores.items()}
        reading = replace(
            plain,
            scores={key: SCALE[1] * value / TOP for key, value in scores.items()},
            explanations=plain.explanations | {key: one.words for key, one in sure.items()},
        )
        heard = Heard(request, reading, {key: one.spread / TOP for key, one in sure.items()})
        return heard.noting(*_notes(completion, plain, beliefs))


def believed(text: str, odds: Logprobs, levels: Mapping[str, float]) -> dict[str, Belief]:
    """What ``odds`` say of the digit that ``text`` gives each key of ``levels``; keys whose digit cannot be told are left out.

    A digit belongs to a key that stands right before it, once in what follows the judge's thoughts, and must be the level that was read.
    """
    found = {}
    answer = strip_reasoning(text) or text  # some servers leave thoughts in the text, and drafts in the thoughts
    after = len(text) - len(answer) if text.endswith(answer) else 0
    for key, level in levels.items():
        said = re.compile(rf'\b{re.escape(key)}\b["\s]*[:=]\s*"?([0-9])(?![0-9.])')
        places = list(said.finditer(text, after))
        if len(places) != 1 or float(places[0][1]) != level:
            continue
        belief = _belief(text, odds, places[0].start(1))
        if belief is not None:
            found[key] = belief
    return found


def _belief(text: str, odds: Logprobs, place: int) -> Belief | None:
    """The belief about the digit at ``place``; None where no token that was told of holds it."""
    for begins, alternatives in odds:
        written = next((token for token, _ in alternatives if text.startswith(token, begins)), "")
        if begins <= place < begins + len(written):
            return _weighed(alternatives)
    return None


def _weighed(alternatives: Sequence[tuple[str, float]]) -> Belief | None:
    """Mean and spread over the alternatives that say a level."""
    chances = [
        (int(said[1]), math.exp(chance)) for token, chance in alternatives if (said := _ALTERNATIVE.match(token))
    ]
    mass = math.fsum(chance for _, chance in chances)
    if mass <= 0:
        return None
    mean = math.fsum(level * chance for level, chance in chances) / mass
    square = math.fsum((level - mean) ** 2 * chance for level, chance in chances) / mass
    return Belief(mean, math.sqrt(square), min(mass, 1.0))


def _notes(completion: Completion, plain: ScoreReading, beliefs: Mapping[str, Belief]) -> Iterator[str]:
    if not plain.scores or len([one for one in beliefs.values() if one.mass >= LEAST]) == len(plain.scores):
        return
    if completion.logprobs is None:
        yield "expected=True, but the judge told no probabilities: its numbers were read as they are"
    else:
        yield (
            f"the judge's probabilities could not be used where less than {LEAST:.0%} of them lay on the scale, or the "
            "tokens did not match the reply: numbers were read as they are"
        )


def _closing(ask: Ask, keys: Sequence[str]) -> str:
    form = json.dumps({"scores": dict.fromkeys(keys, "...")}).replace('"..."', "...")
    lines = [f"Score these attempts: {', '.join(keys)}.", *stated(ask, keys, TOP), f"Answer in JSON: {form}"]
    return "\n" + "\n".join(lines)


class ExpectedListwise(_Expected, Listwise):
    """All candidates in one question; each digit's probabilities are those after the digits before it."""

    __slots__ = ()


class ExpectedPairwise(_Expected, Pairwise):
    """Two candidates in each question; the margin is the difference of their expected scores."""

    __slots__ = ()


class ExpectedPointwise(_Expected, Pointwise):
    """One candidate in each question."""

    __slots__ = ()
