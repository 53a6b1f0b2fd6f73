"""The local judge: a Backend that scores a group by a model that was trained on another judge's scores.

It replies with text as a judge would, so that the reply is read like any other. It reads neither the rubric nor the
rendered question.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from calipers.backends.local.features import FEATURES, MeasuredGroup, measure_group
from calipers.backends.local.model import Model, read_model
from calipers.errors import PermanentError
from calipers.interfaces import FullBackend
from calipers.types import Completion, JudgeRequest, RenderedGroup, Usage

_REMEMBERED: Final = 64
"""How many groups' opinions are stored. Further requests about a stored group need no new count."""
_NAMED: Final = 3
_NEGLIGIBLE: Final = 0.05
_NAMES: Final = tuple(name.replace("_", " ") for name in FEATURES)
_WARNING: Final = (
    "scored by the local judge {title}, trained to agree with {teachers}: it ignores the rubric, shares its teacher's "
    "mistakes, and is easier to game; read its card.md"
)
_LEVELS: Final = 10
"""The score's distribution is reported at so many levels and one more."""


@dataclass(frozen=True, slots=True)
class _Opinion:
    score: float
    explanation: str


class Local(FullBackend):
    """A Backend that scores a group by the local judge in a folder. Equal groups always get equal scores.

    A candidate is always compared with all candidates of its group, even if a request shows only some of them. A group
    unlike those that the model was trained on is refused, so that its candidates are abstained. ``model`` holds a
    digest of the folder, so that a ledger never reuses another model's answers. Raises ConfigError for a folder without
    a sound model.
    """

    endpoint = "local"

    def __init__(self, folder: str | Path) -> None:
        found = read_model(folder)
        self._model = found.model
        self.model = f"{found.model.title}@{found.digest[:12]}"
        teachers = _listed(found.model.teachers)
        self.warnings = (_WARNING.format(title=found.model.title, teachers=teachers),)
        self._opinions: OrderedDict[int, tuple[RenderedGroup, tuple[_Opinion, ...] | str]] = OrderedDict()

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the local judge's reply ``{"explanations": {key: text}, "scores": {key: 0-top}}`` for every candidate
        in the request.

        Raises PermanentError if the request is about criteria, and for a group outside the model's domain.
        """
        if request.view.rubrics:
            raise PermanentError("bad_request", "a local judge scores whole candidates and cannot check criteria")
        opinions = self._opinions_on(request.view)
        if isinstance(opinions, str):
            raise PermanentError("refused", f"outside what the local judge {self._model.title} learned: {opinions}")
        asked = dict(zip(request.keys, (opinions[i] for i in request.ask.order), strict=True))
        top = request.max_score  # written beside each score: a low one is not taken for one of a smaller scale
        reply = {
            "explanations": {key: opinion.explanation for key, opinion in asked.items()},
            "scores": {key: f"{round(opinion.score * top, 2):g}/{top}" for key, opinion in asked.items()},
        }
        shares = {key: _distribution(opinion.score, self._model.stderr) for key, opinion in asked.items()}
        return Completion(
            json.dumps(reply, ensure_ascii=False),
            reasoning=json.dumps(shares),
            model=self.model,
            usage=Usage(cost_usd=0.0),
        )

    def _opinions_on(self, view: RenderedGroup) -> tuple[_Opinion, ...] | str:
        """Return the opinions on a group, computed once per view object, or why the group is outside the domain.

        The stored view keeps its id from being reused.
        """
        known = self._opinions.get(id(view))
        if known is not None:
            return known[1]
        group = measure_group(view)
        outside = self._model.domain.why_outside(group)
        opinions = outside if outside is not None else self._judge(group)
        self._opinions[id(view)] = (view, opinions)
        if len(self._opinions) > _REMEMBERED:
            self._opinions.popitem(last=False)
        return opinions

    def _judge(self, group: MeasuredGroup) -> tuple[_Opinion, ...]:
        scores = [float(one) for one in self._model.scores(group)]
        told = explanations(self._model, group)
        return tuple(_Opinion(score, text) for score, text in zip(scores, told, strict=True))


def explanations(model: Model, group: MeasuredGroup) -> list[str]:
    """Return for each candidate the features whose weights move the local judge's score most, at most three."""
    parts = group.relative * model.weights
    both = parts[:, : len(FEATURES)] + parts[:, len(FEATURES) :]
    largest = np.argsort(-np.abs(both), axis=1, kind="stable")[:, :_NAMED]
    found = []
    for row, places in zip(both, largest, strict=True):
        named = [f"{'+' if row[i] > 0 else '-'} {_NAMES[i]}" for i in places if abs(row[i]) > _NEGLIGIBLE]
        found.append(", ".join(named) or "little sets it apart from its siblings")
    return found


def _distribution(score: float, stderr: float) -> list[float]:
    """Return the probabilities of evenly spaced levels from 0 to 1, with this mean and, where there is any such, this
    standard deviation.

    Part of the probability is on the levels beside the score, and the rest on the ends of the scale.
    """
    below, above = divmod(score * _LEVELS, 1)
    beside = above * (1 - above) / _LEVELS**2
    largest = score * (1 - score) - beside
    ends = min(1.0, max(0.0, stderr**2 - beside) / largest) if largest > 0 else 0.0
    shares = [0.0] * (_LEVELS + 1)
    shares[int(below)] += (1 - ends) * (1 - above)
    shares[min(int(below) + 1, _LEVELS)] += (1 - ends) * above
    shares[0] += ends * (1 - score)
    shares[_LEVELS] += ends * score
    return [round(share, 6) for share in shares]


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
