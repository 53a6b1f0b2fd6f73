"""Listwise, each attempt scored on several aspects at once: correctness apart from safety, in one question.

The reply's schema has a number for every attempt and aspect; an attempt's score is the weighted mean of its aspects, and
there is none where an aspect is missing. Not responsible for criteria that are met or not (``checklist``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from calipers.extract import ScoreReading, extract_scores
from calipers.protocols.listwise import BEFORE
from calipers.protocols.question import (
    EVIDENCE,
    REFUSED,
    ScoreQuestion,
    compose_user,
    rejected,
    stated,
)
from calipers.protocols.schemas import SCALE, keyed, plain_text
from calipers.types import Ask, Completion, JudgeRequest, Reading, RenderedGroup

_AFTER = """\
How to score: for each attempt a whole number from 0 (worthless) to 100 (could not be better) on each aspect by itself: \
{aspects}. An attempt that is poor in one aspect may be excellent in another. A better attempt gets a higher number even \
if the difference is small. The order and the names of the attempts are random and mean nothing."""

_ANSWER = """\
Answer with one JSON object and nothing else. First, under "explanations", one or two sentences for each attempt; then, \
under "scores", a number for each attempt and aspect, named as you are shown."""


@dataclass(frozen=True, slots=True)
class Aspects(ScoreQuestion):
    """Frame and read listwise questions about ``aspects``, (name, weight) each; weights are above 0."""

    aspects: tuple[tuple[str, float], ...] = ()

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest:
        """Put the question about all of ``ask.order``."""
        names = [name for name, _ in self.aspects]
        after = _AFTER.replace("{aspects}", ", ".join(names))
        text = "\n\n".join((BEFORE, f"Standards:\n{view.rubric or self.rubric}", EVIDENCE, after, _ANSWER))
        keys, user = compose_user(ask, view, lambda keys: self._closing(ask, keys))
        limit = None if self.max_tokens is None else self.max_tokens * ask.max_tokens_factor
        number = {"type": "integer", "minimum": SCALE[0], "maximum": SCALE[1]}
        schema = keyed(
            {
                "explanations": keyed({key: plain_text(400) for key in keys}),
                "scores": keyed(dict.fromkeys(self._all(keys), number)),
            }
        )
        messages = ({"role": "system", "content": text}, {"role": "user", "content": user})
        return JudgeRequest(messages, keys, ask, view, schema, limit, self.params)

    def read(self, request: JudgeRequest, completion: Completion) -> Reading:
        """Read the scores of the candidates asked about; their aspects begin their explanations."""
        heard = self.heard(request, completion)
        ratings = heard.ratings()
        return heard.reading(ratings, {rating.item for rating in ratings})

    def extract(self, request: JudgeRequest, completion: Completion) -> ScoreReading:
        """One score for each attempt, from the numbers of its aspects."""
        keys = request.keys
        if completion.finish_reason == "refused":
            return rejected(keys, REFUSED)
        found = extract_scores(
            completion.text,
            self._all(keys),
            scale=SCALE,
            out_of_range=self.out_of_range,
            finish_reason=completion.finish_reason,
        )
        scores, missing, said = {}, {}, _explained(completion.text)
        told = {}
        for key in keys:
            parts = {name: found.scores.get(_name(key, name)) for name, _ in self.aspects}
            known = {name: value for name, value in parts.items() if value is not None}
            if len(known) < len(parts):
                gap = next(name for name, value in parts.items() if value is None)
                missing[key] = f"{gap}: {found.missing.get(_name(key, gap), 'not in the reply')}"
                continue
            total = sum(weight for _, weight in self.aspects)
            scores[key] = sum(weight * known[name] for name, weight in self.aspects) / total
            told[key] = "; ".join([*(f"{name} {value:g}" for name, value in known.items()), *said.get(key, ())])
        outcome = "partial" if scores and missing else found.outcome if scores else "rejected"
        return replace(found, scores=scores, missing=missing, outcome=outcome, explanations=told)

    def _all(self, keys: Sequence[str]) -> list[str]:
        """The names of every attempt's every aspect."""
        return [_name(key, name) for key in keys for name, _ in self.aspects]

    def _closing(self, ask: Ask, keys: Sequence[str]) -> str:
        explained = ", ".join(f'"{key}": ...' for key in keys)
        scored = ", ".join(f'"{one}": ...' for one in self._all(keys))
        lines = [
            f"Score these attempts: {', '.join(keys)}.",
            *stated(ask, keys),
            f'Answer in JSON: {{"explanations": {{{explained}}}, "scores": {{{scored}}}}}',
        ]
        return "\n" + "\n".join(lines)


def _name(key: str, aspect: str) -> str:
    return f"{key} {aspect}"


def _explained(text: str) -> Mapping[str, tuple[str]]:
    """What a reply that is JSON as asked for explains of each attempt; a mended one keeps its numbers only."""
    try:
        said = json.loads(text)["explanations"]
        return {key: (one,) for key, one in said.items() if isinstance(one, str)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
