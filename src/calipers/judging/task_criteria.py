"""Has criteria written for a group's prompt before its answers are judged, once for all groups of the prompt.

The ledger keeps the writer's answer under the question about the prompt, which is the same for all its groups: whoever
asks first pays, the others find the answer, and a replay uses it. Without a ledger the judge remembers it. Not
responsible for what the writer is asked, or what may be used of its reply (``criteria``).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from calipers.config.settings import Settings
from calipers.criteria.question import MOST_CRITERIA, CriteriaQuestion, WritingPlanner, written
from calipers.criteria.standards import with_criteria
from calipers.criteria.task import NO_PROMPT, reference_of, rendered_task
from calipers.interfaces import Store
from calipers.judging.instances import JudgeInstances
from calipers.judging.loop import QueryLoop, Strategies
from calipers.judging.results import group_status, keys_carried_over, usage_and_failed_calls
from calipers.ledger import Recorder
from calipers.ledger.calls import SingleFlight
from calipers.rubric import DEFAULT_RUBRIC
from calipers.rubric.unused_standards import UNUSED_REFERENCE
from calipers.types import (
    Answered,
    Criterion,
    Failure,
    GroupResult,
    Reading,
    RenderedGroup,
    Rubric,
    Scores,
    TrajectoryGroup,
    TrajectoryResult,
    TrajectoryStatus,
    Usage,
    no_scores,
)

_REMEMBERED: Final = 4096
"""Prompts whose criteria a judge without a ledger remembers."""


@dataclass(frozen=True, slots=True)
class TaskCriteria:
    """The criteria of a group's prompt, with the answers that brought them; ``problem`` says why there are none.

    ``has_reference`` says whether the writer was shown a reference.
    """

    criteria: tuple[Criterion, ...] = ()
    answered: tuple[Answered, ...] = ()
    problem: str | None = None
    has_reference: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the object ``prompt_criteria`` of a group's result.

        Its calls and tokens are in the group's own counts as well. Groups with the same ``question`` share its answers.
        """
        paid, failed = usage_and_failed_calls(self.answered)
        return {
            "written": written(self.criteria),
            "problem": self.problem,
            "calls": len(paid),
            "usage": Usage.total([*paid, *(one.usage for one in failed)]).to_dict(),
            "question": next((done.question for done in self.answered if done.question), None),
        }

    def result_instead(
        self, group: TrajectoryGroup, view: RenderedGroup, settings: Settings, warnings: Sequence[str]
    ) -> GroupResult | None:
        """Return the result of a group that is not judged because its prompt has no criteria; None if it is judged.

        No trajectory has a reward. A writer that could not be reached makes the group failed; one whose reply was of no
        use makes it abstained.
        """
        ungradable = settings.grading is not None and not isinstance(settings.rubric, Rubric)
        if self.criteria or not ungradable:
            return None
        last = self.answered[-1].result if self.answered else None
        failed = isinstance(last, Failure) and last.kind not in ("refused", "context_window")
        status: TrajectoryStatus = "failed" if failed else "abstained"
        reason = f"no criteria for its prompt: {self.problem}"
        trajectories = tuple(
            TrajectoryResult(one.id, status, reason=reason, extra=keys_carried_over(one)) for one in group.trajectories
        )
        every = (*view.warnings, *warnings)
        return GroupResult(group.group_id, group_status(trajectories), trajectories, warnings=every, extra=group.extra)

    def added_to(self, result: GroupResult) -> GroupResult:
        """After judging a group, add to its result the criteria, and the calls and tokens that they cost."""
        paid, failed = usage_and_failed_calls(self.answered)
        refused = [note for done in self.answered if isinstance(done.result, Reading) for note in done.result.warnings]
        notes = list(dict.fromkeys(refused))
        before = [note for note in result.warnings if not (self.has_reference and note.startswith(UNUSED_REFERENCE))]
        if not self.criteria and any(one.reward is not None for one in result.trajectories):
            notes.append(f"judged without criteria for its prompt: {self.problem}")
        return replace(
            result,
            judge_calls=result.judge_calls + len(paid),
            usage=Usage.total([result.usage, *paid, *(one.usage for one in failed)]) if self.answered else result.usage,
            attempts=result.attempts + len(paid) + sum(one.count for one in failed),
            unusable=result.unusable + sum(one.unusable for one in failed),
            warnings=(*before, *notes),
            extra={**result.extra, "prompt_criteria": self.to_dict()},
        )


class CriteriaWriter:
    """Has criteria written by the writer among ``judges``, as ``settings`` say. Safe to use from several threads."""

    def __init__(self, judges: JudgeInstances, settings: Settings) -> None:
        assert judges.writer is not None  # noqa: S101 - there is one whenever criteria are wanted
        assert settings.writer is not None  # noqa: S101 - likewise
        self._writer = JudgeInstances([judges.writer])
        self._settings = replace(settings, judges=(settings.writer,))
        self._known: OrderedDict[str, TaskCriteria] = OrderedDict()
        self._flight: SingleFlight[TaskCriteria] = SingleFlight()

    async def settings_for(
        self, group: TrajectoryGroup, number: int, settings: Settings, store: Store, ends: float | None
    ) -> tuple[TaskCriteria | None, Settings]:
        """Before judging a group, return the criteria of its prompt, and its settings with them in the rubric."""
        found = await self.criteria_for(group, number, store, ends)
        if found is None or not found.criteria:
            return found, settings
        rubric = with_criteria(settings.rubric, found.criteria, graded=settings.grading is not None)
        return found, replace(settings, rubric=rubric)

    async def criteria_for(
        self, group: TrajectoryGroup, number: int, store: Store, ends: float | None
    ) -> TaskCriteria | None:
        """Before judging a group, return the criteria of its prompt; None if the group has a rubric of its own."""
        if group.rubric is not None or any(one.rubric is not None for one in group.trajectories):
            return None
        reference = reference_of(group)
        usual = self._settings.standards
        standards = "" if usual == DEFAULT_RUBRIC else usual
        view = rendered_task(group, reference=reference, standards=standards)
        if view is None:
            return TaskCriteria(problem=NO_PROMPT)
        write = partial(self._write, view, number, store, ends, has_reference=bool(reference), standards=standards)
        if isinstance(store, Recorder) or store.replays:
            return await write()
        return await self._remembered(f"{view.digest} {reference}", write)

    async def _remembered(self, key: str, write: partial[Any]) -> TaskCriteria:
        """Return the criteria of a prompt that this judge remembers, or have them written for all who wait."""

        async def once() -> TaskCriteria:
            found: TaskCriteria = await write()
            if isinstance(found.answered[-1].result, Reading):  # a failure to reach the writer may pass
                self._known[key] = found
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            return found

        known = self._known.get(key)
        return known if known is not None else await self._flight.run(key, once)

    async def _write(
        self, view: RenderedGroup, number: int, store: Store, ends: float | None, *, has_reference: bool, standards: str
    ) -> TaskCriteria:
        settings = self._settings
        calls = settings.calls
        question = CriteriaQuestion(MOST_CRITERIA, has_reference, standards, calls.max_tokens, dict(calls.params or {}))
        strategies = Strategies(question, WritingPlanner(), no_scores_yet, no_rewards)
        answered, _ = await QueryLoop(strategies, self._writer, None, view, number, settings, store, ends).run()
        kept = question.checked.kept
        return TaskCriteria(kept, answered, None if kept else why_none(answered), has_reference)


def no_scores_yet(judgments: object, n: int) -> Scores:
    """Aggregate nothing, because a question for criteria gives no judgments."""
    del judgments
    return no_scores(n)


def no_rewards(scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:
    """Give no rewards, because a question for criteria gives no scores."""
    del scores
    return (None,) * len(view.candidates)


def why_none(answered: tuple[Answered, ...]) -> str:
    """Return why the writer's answers brought no criteria; the last answer decides."""
    result = answered[-1].result
    return result.reason or "the writer gave none"
