"""Reads what a reply with scores says about the candidates: their ratings, and for each missing rating the reason."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from calipers.replies import ScoreReading
from calipers.replies.names import CONTRADICTED, OTHER_KEYS, TWO_VERDICTS, WORDS_AROUND
from calipers.types import Ask, Completion, JudgeRequest, Judgment, Rating, Reading

SCALE = (0, 100)
"""The scale on which scores are compared, whatever the scale of the question."""

REFUSED = "the judge refused to answer"

CONSONANTS = "BCDFGHJKLMNPQRSTVWXZ"
"""The letters that candidates' keys consist of."""

_FEW = 64
_KEY = re.compile(rf"\b[{CONSONANTS}]{{2,}}\b")


class ScoredReply:
    """The scores in a judge's reply by candidate (0-1), from which a protocol makes a Reading.

    ``spreads`` are standard deviations by key, if the reply came with probabilities. ``notes`` are warnings about the
    reply.
    """

    def __init__(
        self,
        request: JudgeRequest,
        reading: ScoreReading,
        spreads: Mapping[str, float] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.ask = request.ask
        self._reading = reading
        self._request = request
        self._items = dict(zip(request.keys, request.ask.order, strict=False))
        # A reply that was truncated inside its answer is asked for again with a higher token limit; its scores are not
        # used.
        self.values: dict[int, float] = {}
        self._spreads: dict[int, float] = {}
        for key, value in ({} if reading.truncated and reading.missing else reading.scores).items():
            self.values[self._items[key]] = value / SCALE[1]
        for key, spread in (spreads or {}).items():
            self._spreads[self._items[key]] = spread
        self._notes = notes

    def ratings(self) -> tuple[Rating, ...]:
        """Return the ratings of the candidates in this protocol's question, on the scale that the anchors set."""
        ask = self.ask
        shift = _anchor_shift(self.values, ask.anchors) if ask.anchors else 0.0
        presentation = ask.number if ask.presentation is None else ask.presentation
        ratings, members = [], frozenset(ask.members)
        places = {item: place for place, item in enumerate(ask.order)}
        for item, value in self.values.items():
            if item in members:
                shifted, spread = min(max(value - shift, 0.0), 1.0), self._spreads.get(item)
                ratings.append(Rating(item, shifted, presentation, places[item], ask.slot, spread))
        return tuple(ratings)

    def reading(self, judgments: Sequence[Judgment]) -> Reading:
        """Return ``judgments`` in reply to this protocol's question as a Reading.

        Members without a score are missing, each with a reason; all of them are if there is no judgment.
        """
        covered = self.values if judgments else ()
        reading, request = self._reading, self._request
        reason = None if reading.reason is None else _with_ids(reading.reason, request)
        cut = reading.truncated and bool(reading.missing)
        fallback = "the reply was cut off: raise max_tokens" if cut else reason or "the reply has no score for it"
        missing = {item: fallback for item in self.ask.members if item not in covered}
        if missing and not cut:
            why = {
                self._items[key]: _with_ids(text, request)
                for key, text in reading.missing.items()
                if key in self._items
            }
            missing = {item: why.get(item) or fallback for item in missing}
        explanations: dict[int, str] = {}
        for key, text in reading.explanations.items():
            if key in self._items:
                explanations[self._items[key]] = _with_ids(text, request)
        return Reading(
            tuple(judgments),
            reading.outcome if judgments else "rejected",
            reason,
            missing=missing,
            explanations=explanations,
            truncated=cut,
            warnings=self._notes,
            complaint=_complaint(self.ask, reading),
            doubted=doubted_values(self.ask, reading) if reading.doubted else (),
        )


def _anchor_shift(values: Mapping[int, float], anchors: Sequence[tuple[int, float]]) -> float:
    """Return how much higher the reply scores its anchors than the question stated; 0 if it scores none of them.

    A second score of an anchor sets the scale only. It is no further evidence, because the judge knew the first score.
    """
    excess = [values[item] - stated for item, stated in anchors if item in values]
    return sum(excess) / len(excess) if excess else 0.0


def validate_parsed_scores(parsed: Mapping[str, float], keys: Sequence[str]) -> ScoreReading:
    """Check the scores that a user's ``parse`` returned for a protocol's question: known keys, values on the scale."""
    low, high = SCALE
    if not isinstance(parsed, Mapping):
        return rejected_reading(keys, f"parse= returned {type(parsed).__name__} and not scores by key")
    if unknown := [key for key in parsed if key not in keys]:
        return rejected_reading(keys, f"parse= returned unknown keys {unknown}")
    if bad := [key for key, value in parsed.items() if not low <= value <= high]:
        return rejected_reading(keys, f"parse= returned scores outside 0-100 for {', '.join(bad)}")
    missing = {key: "parse= returned no score for it" for key in keys if key not in parsed}
    return ScoreReading(dict(parsed), missing, "partial" if missing else "strict")


def rejected_reading(keys: Sequence[str], reason: str) -> ScoreReading:
    """Return a Reading without any score for a reply to a protocol's question, with the same reason for each key."""
    return ScoreReading({}, dict.fromkeys(keys, reason), "rejected", reason=reason)


def confirmed(ask: Ask, reading: ScoreReading, *, takes_low: bool = True) -> ScoreReading:
    """Return a reading whose doubted scores count if the judge gave the same in its previous reply to the question.

    Low scores that may be on another scale count only if ``takes_low``: where one candidate or two are asked about,
    low scores are no sign of another scale, and dropping them would drop the worst candidates.
    """
    if not reading.doubted or doubted_values(ask, reading) != ask.doubted:
        return reading
    if (reading.reason or "").startswith("scale") and not takes_low:
        return reading
    return replace(reading, scores=reading.doubted, missing={}, outcome="text", reason=None, doubt=False, doubted={})


def doubted_values(ask: Ask, reading: ScoreReading) -> tuple[tuple[int, str, float], ...]:
    """Return the doubted scores by candidate and aspect, because each question draws other keys."""
    values = list(reading.doubted.values())
    aspects = max(1, len(values) // max(1, len(ask.order)))
    named = ((ask.order[place // aspects], str(place % aspects), value) for place, value in enumerate(values))
    return tuple(sorted(value for value in named if value[0] in ask.members))


_SCALE_COMPLAINT = "its scores were not on the scale"
_COMPLAINTS: Mapping[str, str] = {
    WORDS_AROUND: "it had words before or after its JSON object",
    CONTRADICTED: "an explanation in it named another score than the one it gave",
    TWO_VERDICTS: "it held two verdicts that differ",
    OTHER_KEYS: "its JSON object had keys that were not asked for",
}


def _complaint(ask: Ask, reading: ScoreReading) -> str | None:
    """Return a fixed sentence that tells the judge what was wrong with its reply, without any text of the reply.

    None if repeating the question is pointless: scores off the scale again, after it was restated, say nothing.
    """
    reason = reading.reason or ""
    if reason == REFUSED:
        return None
    if reading.truncated and reading.missing:
        return "it was cut off before its end"
    if reading.scores:
        return "it left attempts out" if reading.missing else None
    if not reading.doubt:
        return "it held no scores that could be read"
    if reason.startswith("scale"):
        return None if ask.note.startswith(_SCALE_COMPLAINT) else _SCALE_COMPLAINT
    return _COMPLAINTS.get(reason, "it named an attempt that does not exist, or gave one attempt two different scores")


def _with_ids(text: str, request: JudgeRequest) -> str:
    """Return a judge's text with the trajectories' ids in place of candidate keys, replaced in one pass."""

    def id_of(match: re.Match[str]) -> str:
        if (word := match[0]) not in request.keys:
            return word
        members = request.view.candidates[request.ask.order[request.keys.index(word)]].members
        return request.view.ids[members[0]] if members else "a test answer"

    few = request.keys[:_FEW]
    for key in few:
        if key in text:
            return _KEY.sub(id_of, text)
    # Most texts contain no key, and this check of a few is faster than a search for words.
    return text if len(few) == len(request.keys) else _KEY.sub(id_of, text)


def spreads_from_probabilities(completion: Completion, keys: Sequence[str]) -> Mapping[str, float]:
    """Return the standard deviation of each key's score (0 to 1), from the probabilities that a decision endpoint
    returns as JSON in place of reasoning.

    Empty if there are none. A key that the endpoint refused to score is omitted.
    """
    if not completion.reasoning.startswith(f'{{"{keys[0]}": '):
        return {}
    try:
        by_key = json.loads(completion.reasoning)
    except (ValueError, RecursionError):
        return {}
    if list(by_key) != list(keys) or not all(value is None or _is_distribution(value) for value in by_key.values()):
        return {}
    return {key: _standard_deviation(value) for key, value in by_key.items() if value is not None}


def _is_distribution(value: object) -> bool:
    if not isinstance(value, list) or len(value) < 2 or not all(type(share) in {int, float} for share in value):
        return False
    return min(value) >= 0 and 0.99 < math.fsum(value) < 1.01


def _standard_deviation(probabilities: Sequence[float]) -> float:
    """Return the standard deviation of a score whose possible levels are evenly spaced from 0 to 1."""
    levels = [(level / (len(probabilities) - 1), share) for level, share in enumerate(probabilities)]
    mean = math.fsum(level * share for level, share in levels)
    return math.sqrt(math.fsum((level - mean) ** 2 * share for level, share in levels))
