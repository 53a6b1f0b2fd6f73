"""Judges in this process that weigh features of a group, and the embedded judge, which needs no set-up at all.

Both reply with text as a judge would, so that the reply is read like any other. They read neither the rubric nor the
rendered question. The embedded judge is for wiring, tests and first steps, not for training.
"""

from __future__ import annotations

import asyncio
import json
import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial

from calipers.backends.features import FEATURES, Measured, measure_features
from calipers.errors import PermanentError
from calipers.interfaces import FullBackend
from calipers.pacing import STEPS_ARE_LONG
from calipers.types import Completion, FailureKind, JudgeRequest, RenderedGroup, Usage

EMBEDDED_WARNING = (
    "scored by the embedded judge, which counts surface features and ignores the rubric: good for wiring, tests and "
    "first steps, not for training; a real judge is one name away, e.g. openai/gpt-5-mini"
)
"""The warning on every result of the embedded judge."""

WEIGHTS = {
    "silent": -2.98, "refusal": -1.1, "coverage": 0.92, "scant": -0.45, "centrality": 1.54, "figures": 0.55,
    "tool_errors": -1.0, "wrong_sums": -1.35, "addresses_judge": -3.0,
}  # fmt: skip
"""What each feature adds to a candidate's log-odds."""
_OFFSET = 0.94
"""The sum of weighted features that scores 50."""
_REMEMBERED = 64
"""How many groups' opinions are stored. Further requests about a stored group need no new count."""
_SHOWN = 3
_NEGLIGIBLE = 0.04
"""The explanation omits a feature that contributes less: about a point of the score."""
_LEVELS = 10
"""A score's distribution is reported at so many levels and one more."""

_FLAWS = {
    "silent": "gives no answer",
    "refusal": "refuses",
    "scant": "much shorter than its siblings",
    "tool_errors": "{part} of {whole} tool calls failed",
    "wrong_sums": "{part} of {whole} sums are wrong",
    "addresses_judge": "talks to the judge",
}
"""Flaws and their texts; an absent flaw is not mentioned."""
_COMPARED = {
    "coverage": ("covers {part} of {whole} task terms", "covers only {part} of {whole} task terms"),
    "centrality": ("words agree with its siblings'", "words stand apart from its siblings'"),
    "figures": ("agrees with its siblings on figures", "differs from its siblings on figures"),
}
"""Features that are mentioned if they differ from the group's mean, with their texts above and below it."""

Opinion = tuple[float, str]
"""A candidate's score from 0 to 1, and its explanation."""


class FeatureJudge(FullBackend):
    """A Backend that scores whole groups by their features, without cost. Equal groups get equal scores.

    A candidate is always compared with all candidates of its group, even if a request shows only some of them. So its
    score does not depend on the position, the key or the selection in a request. ``stderr`` is the standard error of
    every score, if it is known.
    """

    stderr: float | None = None

    def __init__(self) -> None:
        self._known: dict[int, tuple[RenderedGroup, Sequence[Opinion]]] = {}

    @abstractmethod
    def judge_group(self, view: RenderedGroup) -> Sequence[Opinion]:
        """Return the opinion on each candidate of a group. Raises PermanentError for a group that it cannot judge."""

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the reply of a judge in this process, ``{"explanations": {key: text}, "scores": {key: "SCORE/TOP"}}``,
        for every candidate in the request; with a standard error, the probabilities of 11 levels are the reasoning.

        Raises PermanentError if the request is about criteria, or for a group that it cannot judge.
        """
        if request.view.rubrics:
            why = f"the {self.endpoint} judge counts features of candidates and cannot check criteria"
            raise free_error("bad_request", why)
        top = request.max_score
        of_group = partial(self.opinions, request.view)
        opinions = await asyncio.to_thread(of_group) if STEPS_ARE_LONG.get() else of_group()
        asked = {key: opinions[place] for key, place in zip(request.keys, request.ask.order, strict=True)}
        reply = {
            "explanations": {key: explanation for key, (_, explanation) in asked.items()},
            # With the scale, so that a low score is not taken for one of a smaller scale.
            "scores": {key: f"{round(score * top, 2):g}/{top}" for key, (score, _) in asked.items()},
        }
        shares = {} if self.stderr is None else {key: levels(score, self.stderr) for key, (score, _) in asked.items()}
        return Completion(
            json.dumps(reply, ensure_ascii=False),
            reasoning=json.dumps(shares) if shares else "",
            model=self.model,
            usage=Usage(cost_usd=0.0),
        )

    def opinions(self, view: RenderedGroup) -> Sequence[Opinion]:
        """Return the judge's opinions on a group, computed once per view object. The stored view keeps its id from
        being reused.
        """
        if (known := self._known.get(id(view))) is None:
            known = self._known[id(view)] = (view, self.judge_group(view))
            if len(self._known) > _REMEMBERED:
                del self._known[next(iter(self._known))]
        return known[1]


def free_error(kind: FailureKind, why: str) -> PermanentError:
    """Return the error for a group that a judge in this process does not judge, which costs nothing."""
    error = PermanentError(kind, why)
    error.usage = Usage(cost_usd=0.0)
    return error


def levels(score: float, stderr: float) -> list[float]:
    """Return the probabilities of evenly spaced levels from 0 to 1, with this mean and, where there is any such, this
    standard deviation, for the reply of a local judge.

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


class Embedded(FeatureJudge):
    """A Backend that scores a group by fixed weights of plain features. No message content makes it raise."""

    endpoint = "embedded"
    model = "embedded-5"
    warnings = (EMBEDDED_WARNING,)

    def judge_group(self, view: RenderedGroup) -> Sequence[Opinion]:
        """Return the embedded judge's score of each candidate, from 0.05 to 0.95: counting allows no certainty."""
        copies = [len(candidate.members) for candidate in view.candidates]
        lists = [candidate.messages for candidate in view.candidates]
        measured = measure_features(lists, prefix_length=view.prefix_length, copies=copies)
        parts = [[WEIGHTS[name] * value for name, value in zip(FEATURES, row.values, strict=True)] for row in measured]
        total = max(1, sum(copies))
        means = [
            math.fsum(n * part for n, part in zip(copies, column, strict=True)) / total
            for column in zip(*parts, strict=True)
        ]
        opinions = []
        for row, shares in zip(measured, parts, strict=True):
            score = round(5 + 90 / (1 + math.exp(_OFFSET - math.fsum(shares)))) / 100
            opinions.append((score, _explanation(row, shares, means, siblings=total - 1)))
        return opinions


def _explanation(one: Measured, own: Sequence[float], means: Sequence[float], *, siblings: int) -> str:
    """Return the features that changed the score most, at most three, largest first; never empty."""
    effects = {
        name: part if name in _FLAWS or (name == "coverage" and not siblings) else part - mean
        for name, part, mean in zip(FEATURES, own, means, strict=True)
    }
    phrases = []
    for name, effect in sorted(effects.items(), key=lambda item: -abs(item[1]))[:_SHOWN]:
        if abs(effect) >= _NEGLIGIBLE:
            text = _FLAWS[name] if name in _FLAWS else _COMPARED[name][effect < 0]
            part, whole = one.counts.get(name, (0, 0))
            phrases.append(text.format(part=part, whole=whole))
    return "; ".join(phrases) or ("little sets it apart from its siblings" if siblings else "nothing stands out")
