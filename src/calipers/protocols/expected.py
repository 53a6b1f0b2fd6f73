"""Reads scores as expected values: the mean over the digits that a judge might have written, by its log-probabilities.

Every tokenizer has one token for a digit from 0 to 9, so the probabilities of these tokens are those of the scores.
Numbers with two digits do not work: a server reports alternatives to the second digit only for the first digit that was
written. The question asks for digits without explanations, because after a written explanation nearly all probability
is on one number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Final

from calipers.protocols.question import ScoreProtocol
from calipers.protocols.reading import REFUSED, SCALE, ScoredReply, rejected_reading, spreads_from_probabilities
from calipers.protocols.scores import Listwise, Pairwise, Pointwise
from calipers.replies import ScoreReading
from calipers.replies.text import judges_turn
from calipers.types import Ask, Completion, JudgeRequest, Logprobs, RenderedGroup

TOP_DIGIT: Final = 9
"""The highest digit that an attempt can get."""

MIN_MASS: Final = 0.5
"""The least share of the probability that must be on digits. Below it, the score is the digit as written."""

LOGPROB_PARAMS: Final = {"logprobs": True, "top_logprobs": 20}
"""The parameters that request log-probabilities; most servers report 20 alternatives at most."""

_ALTERNATIVE = re.compile(r"[\s\":]*([0-9])(?![0-9.])")
"""A token that contains a level, and may contain the spaces and punctuation around the number as well."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The ``mean`` of a score over the judge's probabilities, and its standard deviation ``spread``, from 0 to 9.

    ``mass`` is the share of the probability on the ten digits; the mean ignores the rest.
    """

    mean: float
    spread: float
    mass: float


class _Expected(ScoreProtocol):
    """Changes a protocol to ask for digits and to read their expected values. Must be the first base class."""

    __slots__ = ()
    top = TOP_DIGIT

    after = """\
Scores are single digits, from 0 (worthless) to 9 (perfect); 5 does half of what the task asks. Better is higher; \
equal digits mean equal worth. Order and names are random."""

    answer = "Answer only in JSON, without explanations: "

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest:
        """Return the protocol's question for ``ask``, with the parameters that request log-probabilities."""
        # The question states an anchor as a digit, so the answer has to be compared with that digit.
        anchors = tuple((item, round(value * TOP_DIGIT) / TOP_DIGIT) for item, value in ask.anchors)
        request = super().frame(replace(ask, anchors=anchors) if anchors else ask, view)
        return replace(request, params={**LOGPROB_PARAMS, **self.params})

    def reply_fields(self, keys: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Return the field names of this protocol's reply form: a score for each key, and no explanations."""
        return (), keys

    def scored_reply(self, request: JudgeRequest, completion: Completion) -> ScoredReply:
        """Return each candidate's expected score by this protocol, or its digit if the probabilities are not usable."""
        if completion.finish_reason == "refused":
            return ScoredReply(request, rejected_reading(request.keys, REFUSED))
        plain = self.extract_scores_of(request, request.keys, completion)
        if spreads := spreads_from_probabilities(completion, request.keys):
            # The scores of a decision endpoint are means already.
            return ScoredReply(request, _on_common_scale(plain, plain.scores), spreads)
        expectations = expectations_in_reply(completion.text, completion.logprobs or (), plain.scores)
        usable = {key: expectation for key, expectation in expectations.items() if expectation.mass >= MIN_MASS}
        levels, explanations, spreads = dict(plain.scores), dict(plain.explanations), {}
        for key, found in usable.items():
            levels[key], spreads[key] = found.mean, found.spread / TOP_DIGIT
            shown = f"level {found.mean:.2f} of {TOP_DIGIT}, standard deviation {found.spread:.2f}"
            explanations[key] = f"{shown}; {found.mass:.0%} of the probability on digits"
        reading = replace(_on_common_scale(plain, levels), explanations=explanations)
        return ScoredReply(request, reading, spreads, tuple(_notes(completion, plain, usable)))


def _on_common_scale(reading: ScoreReading, levels: Mapping[str, float]) -> ScoreReading:
    return replace(reading, scores={key: SCALE[1] * level / TOP_DIGIT for key, level in levels.items()})


def expectations_in_reply(text: str, logprobs: Logprobs, levels: Mapping[str, float]) -> dict[str, Expectation]:
    """Return the expected digit of each key of ``levels`` in ``text``, a reply to this protocol's question.

    A key is omitted if its digit cannot be found. The digit must follow the key directly, the key must occur once after
    the judge's reasoning, and the digit must equal the level that was read.
    """
    expectations = {}
    # Some servers leave reasoning in the text, and reasoning may contain drafts of the answer.
    answer = judges_turn(text) or text
    after = len(text) - len(answer) if text.endswith(answer) else 0
    for key, level in levels.items():
        scored = re.compile(rf'\b{re.escape(key)}\b["\s]*[:=]\s*"?([0-9])(?![0-9.])')
        matches = list(scored.finditer(text, after))
        if len(matches) != 1 or float(matches[0][1]) != level:
            continue
        expectation = _expectation(text, logprobs, matches[0].start(1))
        if expectation is not None:
            expectations[key] = expectation
    return expectations


def _expectation(text: str, logprobs: Logprobs, at: int) -> Expectation | None:
    """Return the expected value of the digit at position ``at``, over those alternatives of its token that are levels;
    None if no token's log-probabilities cover it.
    """
    for begins, alternatives in logprobs:
        written = next((token for token, _ in alternatives if text.startswith(token, begins)), "")
        if begins <= at < begins + len(written):
            break
    else:
        return None
    digits = [(_ALTERNATIVE.match(token), logprob) for token, logprob in alternatives]
    levels = [(int(digit[1]), math.exp(logprob)) for digit, logprob in digits if digit]
    mass = math.fsum(share for _, share in levels)
    if mass <= 0:
        return None
    mean = math.fsum(level * share for level, share in levels) / mass
    square = math.fsum((level - mean) ** 2 * share for level, share in levels) / mass
    return Expectation(mean, math.sqrt(square), min(mass, 1.0))


def _notes(completion: Completion, plain: ScoreReading, usable: Sized) -> Iterator[str]:
    if len(usable) == len(plain.scores):
        return
    if completion.logprobs is None:
        yield "expected=True, but the judge's server returned no log-probabilities: scores are the digits as written"
    else:
        yield (
            f"log-probabilities could not be used where less than {MIN_MASS:.0%} of the probability was on digits, "
            "or the tokens did not match the reply: scores are the digits as written"
        )


class ExpectedListwise(_Expected, Listwise):
    """The listwise protocol with expected values. A digit's probabilities depend on the digits before it."""

    __slots__ = ()


class ExpectedPairwise(_Expected, Pairwise):
    """The pairwise protocol with expected values. The margin is the difference of the two expected scores."""

    __slots__ = ()


class ExpectedPointwise(_Expected, Pointwise):
    """The pointwise protocol with expected values: one candidate in each question."""

    __slots__ = ()
