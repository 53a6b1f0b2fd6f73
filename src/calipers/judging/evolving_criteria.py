"""Criteria that evolve during a run: which version a group is judged by, and when earlier answers are looked at.

A group's version follows from how many groups of its prompt began before it in the run, and what it is made of from
those groups alone, so that a replay repeats it; a group waits for the earlier ones it needs. Not responsible for what
becomes of proposals (``criteria.evolving``), or for the first criteria (``task_criteria``).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from calipers.config.settings import Settings
from calipers.criteria.checks import Checks
from calipers.criteria.contrast import ContrastQuestion, rendered_contrast
from calipers.criteria.evolving import FEWEST, CriteriaSet, Rollout, next_set, unchanged
from calipers.criteria.question import FIRST_CONTRAST, WritingPlanner
from calipers.criteria.task import prompt_of, reference_of, text_of_task
from calipers.errors import ConfigError
from calipers.interfaces import Store
from calipers.judging.instances import JudgeInstances
from calipers.judging.loop import QueryLoop, Strategies
from calipers.judging.task_criteria import CriteriaWriter, TaskCriteria, no_rewards, no_scores_yet, why_none
from calipers.ledger import Recorder, group_digest
from calipers.ledger.calls import SingleFlight
from calipers.monitoring.answers import markdown_marks, message_text
from calipers.types import Answered, GroupResult, TrajectoryGroup
from calipers.types.encoding import to_json_text

_SHOWN: Final = 8
"""The most earlier answers in a question."""
_CLIPPED: Final = 4000
"""The most characters of an earlier answer in a question: three quarters from its beginning, the rest from its end."""
_TOO_LATE: Final = "the group's deadline passed while earlier groups of its prompt were judged"


@dataclass(slots=True)
class _Task:
    """A prompt in the run: the answers of each of its groups, in the order of their numbers, and its versions."""

    groups: list[Future[tuple[Rollout, ...]]] = field(default_factory=list)
    versions: dict[int, tuple[CriteriaSet, tuple[Answered, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Version:
    """What is needed to make a version of a task's criteria, while judging ``group`` with ``number``."""

    task: _Task
    key: str
    group: TrajectoryGroup
    number: int
    store: Store
    ends: float | None


class EvolvingWriter(CriteriaWriter):
    """Has criteria written, and looked at again after every ``freeze`` groups of a prompt."""

    def __init__(self, judges: JudgeInstances, settings: Settings) -> None:
        super().__init__(judges, settings)
        self._lock = threading.Lock()
        self._tasks: dict[str, _Task] = {}
        self._places: dict[int, tuple[str, int]] = {}
        self._making: SingleFlight[tuple[CriteriaSet, tuple[Answered, ...]]] = SingleFlight()

    @contextmanager
    def turn(self, group: TrajectoryGroup, number: int) -> Iterator[list[GroupResult]]:
        """While judging a group, hold its place among the groups of its prompt; later ones wait until it ends.

        Entered in the order of the groups' numbers. Yields a list that takes the group's result.
        """
        settings = self._settings.criteria
        key = to_json_text([list(prompt_of(group)), list(group.tools or ()), reference_of(group, settings.reference)])
        found: Future[tuple[Rollout, ...]] = Future()
        with self._lock:
            task = self._tasks.setdefault(key, _Task())
            self._places[number] = key, len(task.groups)
            task.groups.append(found)
        told: list[GroupResult] = []
        try:
            yield told
        finally:
            del self._places[number]
            found.set_result(tuple(rollout for result in told for rollout in _extremes(group, result)))

    async def criteria_for(
        self, group: TrajectoryGroup, number: int, store: Store, ends: float | None
    ) -> TaskCriteria | None:
        """Before judging a group, return the version of its prompt's criteria that is in effect for it."""
        if isinstance(store, Recorder) and store.run.shared:
            raise ConfigError(
                "criteria='evolving' follows the order of groups in one process; in a shared run use 'auto'"
            )
        key, place = self._places[number]
        chosen = self._settings.criteria
        version = place // chosen.freeze
        if version == 0 or group.rubric is not None or any(one.rubric is not None for one in group.trajectories):
            return await super().criteria_for(group, number, store, ends)
        needed = _Version(self._tasks[key], key, group, number, store, ends)
        try:
            standing, answered = await self._version(needed, version)
        except TimeoutError:
            return TaskCriteria(problem=_TOO_LATE)
        guards = standing.guards(f"{self._settings.seed}:{group_digest(group)}", chosen.guards)
        criteria = (*standing.active, *guards)
        return TaskCriteria(
            criteria,
            answered,
            None if criteria else "no criterion of an earlier version is left, and none was proposed",
            notes=standing.notes,
            standing={
                "version": standing.version,
                "guards": [one.id for one in guards],
                "retired": len(standing.retired),
                "saturation": dict(standing.saturation),
            },
        )

    async def _version(self, needed: _Version, version: int) -> tuple[CriteriaSet, tuple[Answered, ...]]:
        """Return a version of a task's criteria, and the answers that brought it; made once, from the one before."""
        if version in needed.task.versions:
            return needed.task.versions[version]
        freeze = self._settings.criteria.freeze
        earlier = needed.task.groups[(max(version, 1) - 1) * freeze : version * freeze]
        async with asyncio.timeout_at(needed.ends):
            shown = [await asyncio.shield(asyncio.wrap_future(one)) for one in earlier]
        make = partial(self._made, needed, version, [one for group in reversed(shown) for one in group])
        return await self._making.run(f"{version} {needed.key}", make)

    async def _made(
        self, needed: _Version, version: int, earlier: Sequence[Rollout]
    ) -> tuple[CriteriaSet, tuple[Answered, ...]]:
        task = needed.task
        if version not in task.versions:
            if version == 0:
                first = await super().criteria_for(needed.group, needed.number, needed.store, needed.ends)
                task.versions[0] = CriteriaSet(active=() if first is None else first.criteria), ()
            else:
                before, _ = await self._version(needed, version - 1)
                task.versions[version] = await self._evolved(needed, before, earlier)
        return task.versions[version]

    async def _evolved(
        self, needed: _Version, before: CriteriaSet, earlier: Sequence[Rollout]
    ) -> tuple[CriteriaSet, tuple[Answered, ...]]:
        """Ask about earlier answers, and return the next version of the criteria."""
        different = list({one.text: one for one in earlier}.values())[:_SHOWN]
        if len(different) < FEWEST:
            return unchanged(before, f"there are fewer than {FEWEST} different earlier answers"), ()
        settings, calls = self._settings, self._settings.calls
        prompt = prompt_of(needed.group)
        known = [one.text for one in (*before.active, *before.retired)]
        view, rollouts = rendered_contrast(needed.group.group_id, prompt, different, beside=known)
        most = settings.criteria.most
        question = ContrastQuestion(before, most, calls.max_tokens, dict(calls.params or {}))
        strategies = Strategies(question, WritingPlanner(FIRST_CONTRAST), no_scores_yet, no_rewards)
        loop = QueryLoop(strategies, self._writer, None, view, needed.number, settings, needed.store, needed.ends)
        answered, _ = await loop.run()
        if not question.present and not question.proposals:
            return unchanged(before, why_none(answered)), answered
        task = text_of_task(replace(view, candidates=()), [reference_of(needed.group, settings.criteria.reference)])
        checks = Checks(task, known=known, foreign=[one.text for one in rollouts])
        return next_set(before, question.proposals, question.present, rollouts, checks, most=most), answered


def _extremes(group: TrajectoryGroup, result: GroupResult) -> list[Rollout]:
    """Return the answers of a group that was judged with the highest and the lowest score, if they differ.

    An answer that addresses the judge is not shown to the writer.
    """
    by_id = {one.id: one for one in group.trajectories}
    scored = [(one.score, one.id) for one in result.trajectories if one.score is not None and not one.attacks]
    if len({score for score, _ in scored}) < 2:
        return []
    ordered = [by_id[name] for _, name in sorted(scored)]
    texts = [
        "\n\n".join(message_text(message) for message in one.messages if message.get("role") == "assistant").strip()
        for one in (ordered[-1], ordered[0])
    ]
    return [Rollout(_clipped(text), len(text), markdown_marks(text)) for text in texts if text]


def _clipped(text: str) -> str:
    if len(text) <= _CLIPPED:
        return text
    head = _CLIPPED * 3 // 4
    return f"{text[:head]}\n[...]\n{text[head - _CLIPPED :]}"
