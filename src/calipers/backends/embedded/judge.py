"""The embedded judge: a Backend that needs no key, no network and no download.

It counts features of the group (``features``), weighs them (``model``) and replies with text as a judge would, so that
the reply is read like any other. It reads neither the rubric nor the rendered question.
"""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from calipers.backends.embedded.explanation import explain_score
from calipers.backends.embedded.features import measure_features
from calipers.backends.embedded.model import Model, read_model, shipped_model
from calipers.errors import PermanentError
from calipers.interfaces import FullBackend
from calipers.types import Completion, JudgeRequest, RenderedGroup, Usage

EMBEDDED_WARNING = (
    "scored by the embedded judge, which counts surface features and ignores the rubric: good for wiring, tests and "
    "first steps, not for training; a real judge is one name away, e.g. openai/gpt-5-mini"
)
"""The warning on every result of the embedded judge."""

_REMEMBERED = 64
"""How many groups' opinions are stored. Further requests about a stored group need no new count."""


@dataclass(frozen=True, slots=True)
class _Opinion:
    score: int
    explanation: str


class Embedded(FullBackend):
    """A Backend that scores a group by a small fixed linear model, without cost. Equal groups always get equal scores.

    A candidate is always compared with all candidates of its group, even if a request shows only some of them. So its
    score does not depend on the position, the key or the selection in a request. No message content makes this judge
    raise. ``folder`` has a model file of this form; without one, it is the one in the
    package. Raises ConfigError for a folder without such a judge.
    """

    endpoint = "embedded"
    warnings = (EMBEDDED_WARNING,)

    def __init__(self, folder: str | Path | None = None, *, model: Model | None = None) -> None:
        self._weights = model or (shipped_model() if folder is None else read_model(folder))
        # A ledger never reuses the answers of another folder's judge of the same name.
        self.model = self._weights.title if folder is None else f"{self._weights.title}@{self._weights.digest[:12]}"
        self._opinions: OrderedDict[int, tuple[RenderedGroup, tuple[_Opinion, ...]]] = OrderedDict()

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the embedded backend's reply ``{"explanations": {key: text}, "scores": {key: 0-top}}`` for every
        candidate in the request.

        Raises PermanentError if the request is about criteria.
        """
        if request.view.rubrics:
            raise PermanentError("bad_request", "the embedded judge counts surface features and cannot check criteria")
        opinions = self._opinions_on(request.view)
        asked = dict(zip(request.keys, (opinions[i] for i in request.ask.order), strict=True))
        reply = {
            "explanations": {key: opinion.explanation for key, opinion in asked.items()},
            "scores": {key: _on_scale(request.max_score, opinion.score) for key, opinion in asked.items()},
        }
        return Completion(json.dumps(reply, ensure_ascii=False), model=self.model, usage=Usage(cost_usd=0.0))

    def _opinions_on(self, view: RenderedGroup) -> tuple[_Opinion, ...]:
        """Return the opinions on a group, computed once per view object. The stored view keeps its id from being
        reused.
        """
        known = self._opinions.get(id(view))
        if known is not None:
            return known[1]
        opinions = _judge(view, self._weights)
        self._opinions[id(view)] = (view, opinions)
        if len(self._opinions) > _REMEMBERED:
            self._opinions.popitem(last=False)
        return opinions


def _on_scale(top: int, score: int) -> float:
    return score if top == 100 else score * top / 100


def _judge(view: RenderedGroup, model: Model) -> tuple[_Opinion, ...]:
    copies = [len(candidate.members) for candidate in view.candidates]
    measured = measure_features([c.messages for c in view.candidates], prefix_length=view.prefix_length, copies=copies)
    parts = [model.contributions(one.values) for one in measured]
    usual = _mean_contributions(parts, copies)
    return tuple(
        _Opinion(model.score(one.values), explain_score(one, own, usual, siblings=sum(copies) - 1))
        for one, own in zip(measured, parts, strict=True)
    )


def _mean_contributions(parts: list[tuple[float, ...]], copies: list[int]) -> list[float]:
    """Return for each feature the mean contribution in the group, counting every copy.

    The sum is exact, so that the order of candidates does not matter.
    """
    total = max(1, sum(copies))
    return [
        math.fsum(n * part for n, part in zip(copies, column, strict=True)) / total
        for column in zip(*parts, strict=True)
    ]
