"""Has the first judge write criteria for a group's prompt before its answers are judged.

The ledger keeps the answer under the question about the prompt, which is the same for all its groups: whoever asks
first pays, the others find the answer, and a replay uses it. ``criteria`` words the question, and decides what may be
used of the reply.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from calipers.config.settings import Settings
from calipers.criteria.question import MOST_CRITERIA, CriteriaQuestion, WritingPlanner, written
from calipers.criteria.task import NO_PROMPT, reference_of, rendered_task, with_criteria
from calipers.interfaces import Store
from calipers.judging.instances import JudgeInstances
from calipers.judging.loop import QueryLoop, Strategies
from calipers.judging.results import Spent
from calipers.rubric import DEFAULT_RUBRIC
from calipers.rubric.unused_standards import UNUSED_REFERENCE
from calipers.types import (
    Answered,
    Criterion,
    Failure,
    GroupResult,
    Reading,
    Rubric,
    TrajectoryGroup,
    TrajectoryStatus,
    Usage,
    no_scores,
)


@dataclass(frozen=True, slots=True)
class TaskCriteria:
    """The criteria of a group's prompt, with the answers that brought them; ``problem`` says why there are none.

    ``has_reference`` says whether the writer was shown a reference.
    """

    criteria: tuple[Criterion, ...] = ()
    answered: tuple[Answered, ...] = ()
    problem: str | None = None
    has_reference: bool = False

    def why_unjudged(self, settings: Settings) -> tuple[TrajectoryStatus, str] | None:
        """Return the status and reason of a group that cannot be judged without criteria; None if it is judged.

        A writer that could not be reached makes the group failed; one whose reply was of no use makes it abstained.
        """
        if self.criteria or settings.grading is None or isinstance(settings.rubric, Rubric):
            return None
        last = self.answered[-1].result if self.answered else None
        failed = isinstance(last, Failure) and last.kind not in ("refused", "context_window")
        return "failed" if failed else "abstained", f"no criteria for its prompt: {self.problem}"

    def added_to(self, result: GroupResult) -> GroupResult:
        """Add to its result the criteria, and the calls and tokens that they cost.

        Groups with the same ``question`` share its answers.
        """
        spent = Spent.on(self.answered)
        shown: dict[str, Any] = {
            "written": written(self.criteria),
            "problem": self.problem,
            "calls": spent.calls,
            "usage": spent.usage.to_dict(),
            "question": next((answer.question for answer in self.answered if answer.question), None),
        }
        refused = [
            note for answer in self.answered if isinstance(answer.result, Reading) for note in answer.result.warnings
        ]
        notes = list(dict.fromkeys(refused))
        before = [note for note in result.warnings if not (self.has_reference and note.startswith(UNUSED_REFERENCE))]
        if not self.criteria and any(trajectory.reward is not None for trajectory in result.trajectories):
            notes.append(f"judged without criteria for its prompt: {self.problem}")
        return replace(
            result,
            judge_calls=result.judge_calls + spent.calls,
            usage=Usage.total([result.usage, spent.usage]) if self.answered else result.usage,
            attempts=result.attempts + spent.attempts,
            unusable=result.unusable + spent.unusable,
            extra={**result.extra, "prompt_criteria": shown},
            warnings=(*before, *notes),
        )


async def settings_with_criteria(
    judges: JudgeInstances, group: TrajectoryGroup, number: int, settings: Settings, store: Store, ends: float | None
) -> tuple[TaskCriteria | None, Settings]:
    """Have the first of ``judges`` write criteria for the prompt of ``group``; return them, and ``settings`` with them
    in the rubric.

    None for a group that has a rubric of its own.
    """
    if group.rubric is not None or any(trajectory.rubric is not None for trajectory in group.trajectories):
        return None, settings
    reference = reference_of(group)
    standards = "" if settings.standards == DEFAULT_RUBRIC else settings.standards
    view = rendered_task(group, reference=reference, standards=standards)
    if view is None:
        return TaskCriteria(problem=NO_PROMPT), settings
    params = dict(settings.calls.params or {})
    question = CriteriaQuestion(MOST_CRITERIA, bool(reference), standards, settings.calls.max_tokens, params)
    strategies = Strategies(question, WritingPlanner(), lambda _, n: no_scores(n), lambda scores, _: scores.values)
    answered, _ = await QueryLoop(strategies, judges, (), view, number, settings, store, ends).run()
    kept = question.checked.kept
    if not kept:
        problem = answered[-1].result.reason or "the writer gave none"
        return TaskCriteria((), answered, problem, bool(reference)), settings
    rubric = with_criteria(settings.rubric, kept, graded=settings.grading is not None)
    return TaskCriteria(kept, answered, None, bool(reference)), replace(settings, rubric=rubric)
