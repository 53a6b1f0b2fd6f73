"""The embedded judge, for set-up, tests and first steps: no key, no network, no download. Not for training.

It weighs plain features of the group and replies with text as a judge would, so that the reply is read like any other.
It reads neither the rubric nor the rendered question.
"""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Sequence

from calipers.backends.features import FEATURES, Measured, measure_features
from calipers.errors import PermanentError
from calipers.interfaces import FullBackend
from calipers.types import Completion, JudgeRequest, RenderedGroup, Usage

EMBEDDED_WARNING = (
    "scored by the embedded judge, which counts surface features and ignores the rubric: good for wiring, tests and "
    "first steps, not for training; a real judge is one name away, e.g. openai/gpt-5-mini"
)
"""The warning on every result of the embedded judge."""

WEIGHTS = {
    "silent": -2.98,
    "unfinished": -1.0,
    "refusal": -1.1,
    "coverage": 0.92,
    "repetition": -0.88,
    "scant": -0.45,
    "consensus": 1.6,
    "centrality": 1.54,
    "figures": 0.55,
    "actions": 0.99,
    "tool_errors": -1.0,
    "unresolved": -1.19,
    "loops": -1.0,
    "wrong_sums": -1.35,
    "addresses_judge": -3.0,
}
"""What each feature adds to a candidate's log-odds."""
_OFFSET = 1.93
"""The sum of weighted features that scores 50."""
_REMEMBERED = 64
"""How many groups' opinions are stored. Further requests about a stored group need no new count."""
_SHOWN = 3
_NEGLIGIBLE = 0.04
"""The explanation omits a feature that contributes less: about a point of the score."""

_FLAWS = {
    "silent": "gives no answer",
    "unfinished": "stops on a tool call without a final answer",
    "refusal": "refuses",
    "repetition": "repeats itself",
    "scant": "much shorter than its siblings",
    "tool_errors": "{part} of {whole} tool calls failed",
    "unresolved": "tool errors left unresolved: {part}",
    "loops": "{part} of {whole} tool calls repeat an earlier one",
    "wrong_sums": "{part} of {whole} sums are wrong",
    "addresses_judge": "talks to the judge",
}
"""Flaws and their texts; an absent flaw is not mentioned."""
_COMPARED = {
    "coverage": ("covers {part} of {whole} task terms", "covers only {part} of {whole} task terms"),
    "consensus": (
        "{part} of {whole} siblings give the same answer",
        "only {part} of {whole} siblings give the same answer",
    ),
    "centrality": ("words agree with its siblings'", "words stand apart from its siblings'"),
    "figures": ("agrees with its siblings on figures", "differs from its siblings on figures"),
    "actions": ("changes what its siblings change", "changes other things than its siblings"),
}
"""Features that are mentioned if they differ from the group's mean, with their texts above and below it."""


class Embedded(FullBackend):
    """A Backend that scores a group by fixed weights of plain features, without cost. Equal groups get equal scores.

    A candidate is always compared with all candidates of its group, even if a request shows only some of them. So its
    score does not depend on the position, the key or the selection in a request. No message content makes it raise.
    """

    endpoint = "embedded"
    model = "embedded-3"
    warnings = (EMBEDDED_WARNING,)

    def __init__(self) -> None:
        self._opinions: OrderedDict[int, tuple[RenderedGroup, tuple[tuple[int, str], ...]]] = OrderedDict()

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the embedded backend's reply ``{"explanations": {key: text}, "scores": {key: 0-top}}`` for every
        candidate in the request.

        Raises PermanentError if the request is about criteria.
        """
        if request.view.rubrics:
            raise PermanentError("bad_request", "the embedded judge counts surface features and cannot check criteria")
        opinions, top = self._opinions_on(request.view), request.max_score
        asked = dict(zip(request.keys, (opinions[i] for i in request.ask.order), strict=True))
        reply = {
            "explanations": {key: explanation for key, (_, explanation) in asked.items()},
            "scores": {key: score if top == 100 else score * top / 100 for key, (score, _) in asked.items()},
        }
        return Completion(json.dumps(reply, ensure_ascii=False), model=self.model, usage=Usage(cost_usd=0.0))

    def _opinions_on(self, view: RenderedGroup) -> tuple[tuple[int, str], ...]:
        """Return score and explanation of each candidate, computed once per view object. The stored view keeps its id
        from being reused.
        """
        known = self._opinions.get(id(view))
        if known is not None:
            return known[1]
        opinions = _judge(view)
        self._opinions[id(view)] = (view, opinions)
        if len(self._opinions) > _REMEMBERED:
            self._opinions.popitem(last=False)
        return opinions


def _judge(view: RenderedGroup) -> tuple[tuple[int, str], ...]:
    copies = [len(candidate.members) for candidate in view.candidates]
    measured = measure_features([c.messages for c in view.candidates], prefix_length=view.prefix_length, copies=copies)
    parts = [[WEIGHTS[name] * value for name, value in zip(FEATURES, one.values, strict=True)] for one in measured]
    total = max(1, sum(copies))
    usual = [
        math.fsum(n * part for n, part in zip(copies, column, strict=True)) / total
        for column in zip(*parts, strict=True)
    ]
    return tuple(
        (_score(math.fsum(own)), _explanation(one, own, usual, siblings=total - 1))
        for one, own in zip(measured, parts, strict=True)
    )


def _score(total: float) -> int:
    """Return a score from 5 to 95: counting words allows no certainty, and a group in which all score 0 or 1 would look
    like a group scored in fractions.
    """
    return round(5 + 90 / (1 + math.exp(_OFFSET - total)))


def _explanation(one: Measured, own: Sequence[float], usual: Sequence[float], *, siblings: int) -> str:
    """Return the features that changed the score most, at most three, largest first; never empty."""
    effects = {}
    for name, part, mean in zip(FEATURES, own, usual, strict=True):
        effects[name] = part if name in _FLAWS or (name == "coverage" and not siblings) else part - mean
    if abs(effects["unresolved"]) >= _NEGLIGIBLE:
        del effects["tool_errors"]
    phrases: list[str] = []
    for name, effect in sorted(effects.items(), key=lambda item: -abs(item[1])):
        if abs(effect) >= _NEGLIGIBLE and len(phrases) < _SHOWN:
            text = _FLAWS[name] if name in _FLAWS else _COMPARED[name][effect < 0]
            part, whole = one.counts.get(name, (0, 0))
            phrases.append(text.format(part=part, whole=whole))
    nothing = "little sets it apart from its siblings" if siblings else "nothing stands out"
    return "; ".join(phrases) or nothing
