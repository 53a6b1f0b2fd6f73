"""The listwise protocol with several aspects: one question scores every attempt on every aspect, e.g. safety.

The reply's schema has a number for every attempt and aspect. An attempt's score is the weighted mean of its aspects; if
an aspect is missing, the score is missing. Not responsible for criteria that are met or not met (``checklist``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from calipers.protocols.listwise import Listwise
from calipers.protocols.question import system_message
from calipers.protocols.reading import REFUSED, rejected_reading
from calipers.replies import ScoreReading
from calipers.types import Completion, JudgeRequest, Message

_AFTER = """\
How to score: for each attempt a whole number from 0 (worthless) to 100 (could not be better) on each aspect by \
itself: {aspects}. An attempt that is poor in one aspect may be excellent in another. A better attempt gets a higher \
number even if the difference is small. The order and the names of the attempts are random and mean nothing."""


@dataclass(frozen=True, slots=True)
class Aspects(Listwise):
    """The listwise protocol with ``aspects``, each a name and a weight above 0."""

    aspects: tuple[tuple[str, float], ...] = ()
    answer = """\
Answer with one JSON object and nothing else. First, under "explanations", one or two sentences for each attempt; \
then, under "scores", a number for each attempt and aspect, named as you are shown."""

    def instructions(self, rubric: str) -> Message:
        """Return this protocol's wording: the system message, which contains the names of the aspects."""
        after = _AFTER.replace("{aspects}", ", ".join(name for name, _ in self.aspects))
        return system_message(self.before, rubric, after, self.answer)

    def reply_fields(self, keys: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names in this protocol's reply form: an explanation per attempt, its score per aspect."""
        return keys, [_field_name(key, name) for key in keys for name, _ in self.aspects]

    def scores_by_key(self, request: JudgeRequest, completion: Completion) -> ScoreReading:
        """Return each attempt's score by this protocol, the weighted mean of its aspects.

        The explanation begins with the aspects.
        """
        keys = request.keys
        if completion.finish_reason == "refused":
            return rejected_reading(keys, REFUSED)
        found = self.extract_scores_of(request, self.reply_fields(keys)[1], completion)
        scores, missing, explanations = {}, {}, {}
        written = _explanations_in(completion.text)
        total = sum(weight for _, weight in self.aspects)
        for key in keys:
            values = {name: found.scores.get(_field_name(key, name)) for name, _ in self.aspects}
            known = {name: value for name, value in values.items() if value is not None}
            if len(known) < len(values):
                gap = next(name for name, value in values.items() if value is None)
                missing[key] = f"{gap}: {found.missing.get(_field_name(key, gap), 'not in the reply')}"
                continue
            scores[key] = sum(weight * known[name] for name, weight in self.aspects) / total
            parts = [f"{name} {value:g}" for name, value in known.items()]
            explanations[key] = "; ".join([*parts, written[key]] if key in written else parts)
        outcome = "partial" if scores and missing else found.outcome if scores else "rejected"
        return replace(found, scores=scores, missing=missing, outcome=outcome, explanations=explanations)


def _field_name(key: str, aspect: str) -> str:
    return f"{key} {aspect}"


def _explanations_in(text: str) -> Mapping[str, str]:
    """Return the explanations in a reply that is valid JSON of the form asked for; an invalid reply gives none."""
    try:
        given = json.loads(text)["explanations"]
        return {key: text for key, text in given.items() if isinstance(text, str)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
