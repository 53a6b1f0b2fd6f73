"""verifiers 0.4 and prime-rl: judge the finished rollouts of an episode against one another.

verifiers is imported only to make the environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from calipers.config.arguments import require_callable
from calipers.errors import CalipersError, InputError
from calipers.registry import import_library
from calipers.trainers.process import JudgeLike, as_judge
from calipers.trainers.rewards import trajectory_rewards
from calipers.trainers.run import PATIENCE, JudgedRun, Lasting, Row, Stop, finite_reward, judged
from calipers.types import GroupResult, TrajectoryResult

__all__ = ["best_of_n"]

NAME: Final = "judge"
"""The name of the judge's reward and of its opinion in a trace."""

_RECORDED = ("status", "score", "stderr", "explanation", "reason")


def best_of_n(
    judge: JudgeLike,
    *,
    rubric: Callable[[Any], str | None] | None = None,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> type:
    """Return a best-of-n environment for trainers with the library verifiers: ``judge`` compares a task's rollouts.

    Assign it to a name in a module, where verifiers finds it. ``rubric`` returns a task's rubric, which replaces the
    judge's. The judge's reward, in [0, 1], is added to the task's own.
    """
    require_callable(rubric=rubric)
    remedy = "verifiers 0.4 or newer is needed: pip install 'verifiers>=0.4'"
    best_of_n_env: Any = import_library("verifiers.v1.envs.best_of_n.env", remedy=remedy).BestOfNEnv
    run = JudgedRun(as_judge(judge), patience=patience, stop=stop, min_scored=1, consequence="so its episode fails")

    class JudgedBestOfN(best_of_n_env):  # type: ignore[misc]  # verifiers is not there when types are checked
        """Adds the judge's reward to each rollout's rewards from the task."""

        async def finalize(self, task: Any, episode: Any) -> None:
            await judge_episode(run, episode, None if rubric is None else rubric(task))

    return JudgedBestOfN


async def judge_episode(run: JudgedRun, episode: Any, rubric: str | None = None) -> None:
    """Judge an episode's traces for a trainer with the library verifiers, against one another.

    A trace that the judge leaves unscored gets no reward and is marked as not trainable, so that prime-rl computes the
    baseline from its siblings alone. ``trace.info["judge"]`` has the judge's score and explanation of each trace.

    In verifiers one failed rollout fails the whole episode, so this function raises before the judge is paid. Raises
    CalipersError if no trace could be scored, too. Then verifiers stores the episode without a reward, and prime-rl
    does not train on it. Raises InputError for a trace whose other rewards are not finite. verifiers treats every error
    as a failure of an episode and continues, so ``stop=interrupt`` (of ``run``) is needed to end its process.
    """
    run.require_running()
    traces = episode.traces
    if failed := [trace for trace in traces if not trace.ok]:
        last = failed[-1].last_error
        why = f"; the last with {last.type}: {last.message}" if last is not None else ""
        raise CalipersError(f"{len(failed)} of {len(traces)} rollouts failed, and so does their episode{why}")
    for trace in traces:
        if NAME in trace.rewards:
            raise InputError(f"trace {trace.id} already has a reward named {NAME!r}: rename that of the task")
        finite_reward(trace.reward, f"trace {trace.id}")
    rows = [Row(None, _trajectory_object(trace), rubric=rubric, name=episode.id) for trace in traces]
    results = await judged(run, rows, _rewarded_rows)
    if all(reward is None for reward, _ in results):
        raise CalipersError(f"none of {len(traces)} rollouts could be scored: {results[0][1].reason}")
    for trace, (reward, row) in zip(traces, results, strict=True):
        trace.info[NAME] = {field: getattr(row, field) for field in _RECORDED}
        if reward is None:
            trace.rewards[NAME] = None  # how verifiers stores a missing reward
            trace.agent.trainable = False
        else:
            trace.record_reward(NAME, reward)


def _rewarded_rows(result: GroupResult) -> list[tuple[float | None, TrajectoryResult]]:
    return list(zip(trajectory_rewards(result), result.trajectories, strict=True))


def _trajectory_object(trace: Any) -> dict[str, Any]:
    """Return a verifiers trace as a trajectory object of a groups file. Its branches follow one after the other."""
    histories = [
        {
            "messages_and_choices": [
                # provider_state is encrypted reasoning, which only the provider can read
                message.model_dump(exclude_none=True, exclude={"provider_state"})
                for message in branch.messages
            ],
            "tools": [tool.model_dump(exclude_none=True) for tool in branch.tools],
        }
        for branch in trace.branches
        if branch.trainable
    ]
    first, *more = histories or [{"messages_and_choices": [], "tools": []}]
    return {"id": trace.id, **first, "additional_histories": more}
