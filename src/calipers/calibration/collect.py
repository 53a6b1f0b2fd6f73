"""Query judges about groups with gold scores and record their answers, in the form of a judgments file.

Every answer goes through ``Judge``, so that the figures are those of a run.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from calipers.backends.names import name_without_password
from calipers.calibration.records import Key
from calipers.config.settings import Settings
from calipers.errors import InputError
from calipers.interfaces import Backend
from calipers.judging.api import check_or_continue
from calipers.judging.judge import Judge, store_of
from calipers.rubric import Rubric
from calipers.rubric.dataset_standards import without_rubrics
from calipers.types import (
    Ask,
    Comparison,
    Completion,
    GroupResult,
    JudgeRequest,
    Rating,
    Reading,
    TrajectoryGroup,
    Usage,
)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class JudgeAnswers:
    """The judgments of one judge so far, and the results that they led to.

    ``reused`` answers were in the ledger already.
    """

    judge: str
    protocol: str = "listwise"
    prompt_variant: str | None = None
    temperature: float | None = None
    settings: Settings | None = None
    judgments: list[dict[str, Any]] = field(default_factory=list)
    results: list[GroupResult] = field(default_factory=list)
    answered_groups: set[str] = field(default_factory=set)
    reused: int = 0

    @classmethod
    def of(cls, judge: str | Backend, protocol: str, prompt_variant: str | None = None) -> JudgeAnswers:
        """Return the answers of a judge that was not asked yet; its name has no password."""
        name = name_without_password(judge) if isinstance(judge, str) else type(judge).__name__
        return cls(name, protocol, prompt_variant)

    def observe(self, request: JudgeRequest, completion: Completion, reading: Reading) -> None:
        """Record one answer of the judge."""
        view, usage = request.view, completion.usage
        ids = [[view.ids[member] for member in candidate.members] for candidate in view.candidates]
        self.answered_groups.add(view.group_id)
        counted = usage.input_tokens or usage.output_tokens  # else the judge's server does not report it
        names = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd")
        answer = (_verdict_of_pair if self.protocol == "pairwise" else _scores_of_answer)(request.ask, reading, ids)
        shown = {
            "shown": len(request.ask.order),
            "usage": {name: getattr(usage, name) for name in names} if counted else None,
        }
        self.judgments.append(self._record(view.group_id, {**answer, **shown}))

    def record_unanswered(self, result: GroupResult) -> None:
        """Record a group without any answer: not sent, refused, or every call failed."""
        if result.status not in ("abstained", "failed") or result.group_id in self.answered_groups:
            return
        ids = [trajectory.id for trajectory in result.trajectories]
        unanswered = {
            "mode": self.protocol if self.protocol in ("pairwise", "pointwise") else "listwise",
            "order": ids[:2] if self.protocol == "pairwise" else ids,
            "parsed": None,
            "status": result.status,
            "reason": next((trajectory.reason for trajectory in result.trajectories if trajectory.reason), None),
            "shown": 0,
        }
        self.judgments.append(self._record(result.group_id, unanswered))

    def _record(self, group_id: str, answer: dict[str, Any]) -> dict[str, Any]:
        asked = {"prompt_variant": self.prompt_variant, "temperature": self.temperature}
        return {"group_id": group_id, "judge": self.judge, **asked, **answer}

    @property
    def settings_by_key(self) -> dict[Key, Settings]:
        """The settings with which the judge was asked, by the keys of its judgments."""
        modes = {judgment["mode"] for judgment in self.judgments}
        settings = self.settings
        if settings is None:
            return {}
        return {Key(self.judge, mode, self.prompt_variant, self.temperature): settings for mode in modes}

    @property
    def calls(self) -> int:
        """The number of answers about groups, those of the ledger included."""
        return sum(result.judge_calls for result in self.results)

    @property
    def usage(self) -> Usage:
        """What the judge's answers cost."""
        return Usage.total([result.usage for result in self.results])

    @property
    def unscored(self) -> int:
        """The number of trajectories without a score."""
        return sum(reward is None for result in self.results for reward in result.rewards)

    async def ask(self, judge: Judge, groups: Iterable[TrajectoryGroup]) -> AsyncIterator[GroupResult]:
        """Query the judge about ``groups`` and yield the results, which are also kept; close it at the end.

        Raises ConfigError for a judge that cannot be reached, or that refuses every question.
        """
        self.settings = judge.settings
        temperature = (judge.settings.calls.params or {}).get("temperature")
        self.temperature = temperature if isinstance(temperature, int | float) else None
        try:
            for warning in await check_or_continue(judge):
                _log.warning("%s", warning)
            async for result in judge.score_groups(groups):
                await judge.require_answering()
                self.results.append(result)
                yield result
            self.reused = store_of(judge).reused
        finally:
            judge.close()


def require_askable(name: str, **options: Any) -> None:
    """Raise ConfigError unless the judge ``name`` can be asked with these ``options``; asks nothing."""
    Judge.of({"judge": name, **options, "ledger": None}).close()


async def collect_judgments(
    groups: Iterable[TrajectoryGroup],
    name: str,
    *,
    protocol: str = "listwise",
    rubric: str | Rubric | None = None,
    prompt_variant: str | None = None,
    **options: Any,
) -> JudgeAnswers:
    """Query the judge ``name`` about ``groups`` and return its judgments; a ``rubric`` replaces the groups' own.

    ``options`` are those of ``Judge.of``. Raises ConfigError before any question is sent, if settings are invalid or a
    judge cannot be reached whose answers are not in the ledger, and if a judge refuses every question. Raises
    InputError if no group has two trajectories with messages.
    """
    judgeable = judgeable_groups(groups, rubric=rubric)
    answers = JudgeAnswers.of(name, protocol, prompt_variant)
    watchers = [*options.pop("watchers", ()), answers.observe]
    judge = Judge.of({"judge": name, "protocol": protocol, "rubric": rubric, **options, "watchers": watchers})
    async for result in answers.ask(judge, judgeable):
        answers.record_unanswered(result)
    return answers


def judgeable_groups(groups: Iterable[TrajectoryGroup], *, rubric: str | Rubric | None) -> list[TrajectoryGroup]:
    """Return the groups that a judge is asked about; a ``rubric`` replaces the groups' own.

    Raises InputError if there is none.
    """
    every = list(groups)
    judgeable = [group for group in every if sum(bool(trajectory.messages) for trajectory in group.trajectories) > 1]
    if not judgeable:
        raise InputError("no group has two trajectories with 'messages': there is nothing to ask a judge about")
    return judgeable if rubric is None else [without_rubrics(group) for group in judgeable]


def _scores_of_answer(ask: Ask, reading: Reading, ids: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return an answer's scores as part of its record; identical trajectories, shown as one, share a score."""
    scores = {
        name: judgment.value
        for judgment in reading.judgments
        if isinstance(judgment, Rating)
        for name in ids[judgment.item]
    }
    return {
        "mode": "pointwise" if len(ask.order) == 1 else "listwise",
        "order": [name for item in ask.order if item in ask.members for name in ids[item]],
        "sample_index": ask.number if ask.presentation is None else ask.presentation,
        "parsed": {"scores": scores} if scores else None,
        "scale": [0, 1],
    }


def _verdict_of_pair(ask: Ask, reading: Reading, ids: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the part of a pair's record that holds the judge's verdict: the winner's id and the margin.

    A candidate that represents several identical trajectories has the id of the first.
    """
    first, second = (ids[item][0] for item in ask.order)
    verdict = next((judgment for judgment in reading.judgments if isinstance(judgment, Comparison)), None)
    parsed = None
    if verdict is not None:
        winner = "tie" if verdict.margin == 0 else first if verdict.margin > 0 else second
        parsed = {"winner": winner, "margin": abs(verdict.margin)}
    return {"mode": "pairwise", "order": [first, second], "sample_index": ask.sample, "parsed": parsed}
