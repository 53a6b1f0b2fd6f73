"""verifiers 0.4 and prime-rl: judge the finished rollouts of an episode against one another.

``best_of_n`` makes the environment; ``judge_episode`` is for the ``finalize`` of your own environment. verifiers is
imported only to make the environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calipers.errors import CalipersError, InputError
from calipers.trainers.process import JudgeLike, import_engine
from calipers.trainers.rewards import trajectory_rewards
from calipers.trainers.run import PATIENCE, Lasting, Row, Stop, finite_reward, judged, require_settings, shared_run
from calipers.types import GroupResult, TrajectoryResult

__all__ = ["best_of_n", "judge_episode"]


def best_of_n(
    judge: JudgeLike,
    *,
    name: str = "judge",
    weight: float = 1.0,
    rubric: str | Callable[[Any], str | None] | None = None,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> type:
    """Return a best-of-n environment for trainers with the library verifiers: ``judge`` compares a task's rollouts.

    Assign it to a name in a module, where verifiers finds it. ``rubric`` is text, or a function from the task to text.
    The other arguments are those of ``judge_episode``.
    """
    require_settings("verifiers", patience=patience, stop=stop, weight=weight)
    remedy = "verifiers 0.4 or newer is needed: pip install 'verifiers>=0.4'"
    best_of_n_env: Any = import_engine("verifiers.v1.envs.best_of_n.env", remedy=remedy).BestOfNEnv

    class JudgedBestOfN(best_of_n_env):  # type: ignore[misc]  # verifiers is not there when types are checked
        """Adds the judge's reward to each rollout's rewards from the task."""

        async def finalize(self, task: Any, episode: Any) -> None:
            text = rubric(task) if callable(rubric) else rubric
            await judge_episode(episode, judge, name=name, weight=weight, rubric=text, patience=patience, stop=stop)

    return JudgedBestOfN


async def judge_episode(
    episode: Any,
    judge: JudgeLike,
    *,
    agent: str | None = None,
    name: str = "judge",
    weight: float = 1.0,
    rubric: str | None = None,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> None:
    """Judge an episode's traces for a trainer with the library verifiers.

    They are judged against one another. Each reward, in [0, 1], is recorded under ``name``. The traces are those of
    ``agent``, or of all trainable agents. A trace that the judge leaves unscored gets no reward and is marked as not
    trainable, so that prime-rl computes the baseline from its siblings alone. ``trace.info[name]`` has the judge's
    score and explanation of each trace.

    In verifiers one failed rollout fails the whole episode, so this function raises before the judge is paid. Raises
    CalipersError if no trace could be scored, too. Then verifiers stores the episode without a reward, and prime-rl
    does not train on it. Raises InputError for a trace whose other rewards are not finite. verifiers treats every error
    as a failure of an episode and continues, so ``stop=interrupt`` (of ``run``) is needed to end its process.
    """
    run = shared_run(judge, patience, stop, min_scored=1, consequence="so its episode fails")
    traces = [
        trace for trace in episode.traces if (trace.agent.trainable if agent is None else trace.agent.name == agent)
    ]
    if not traces:
        raise CalipersError("the episode has no rollouts to judge")
    if failed := [trace for trace in traces if not trace.ok]:
        last = failed[-1].last_error
        why = f"; the last with {last.type}: {last.message}" if last is not None else ""
        raise CalipersError(f"{len(failed)} of {len(traces)} rollouts failed, and so does their episode{why}")
    for trace in traces:
        if name in trace.rewards:
            raise InputError(f"trace {trace.id} already has a reward named {name!r}: choose another name=")
        finite_reward(trace.reward, f"trace {trace.id}")
    rows = [Row(None, _trajectory_object(trace), rubric=rubric, name=episode.id) for trace in traces]
    results = await judged(run, rows, _rewarded_rows)
    if all(reward is None for reward, _ in results):
        raise CalipersError(f"none of {len(traces)} rollouts could be scored: {results[0][1].reason}")
    for trace, (reward, row) in zip(traces, results, strict=True):
        trace.info[name] = {field: getattr(row, field) for field in _RECORDED}
        if reward is None:
            trace.rewards[name] = None  # how verifiers stores a missing reward
            trace.agent.trainable = False
        else:
            trace.record_reward(name, reward, weight)


_RECORDED = ("status", "score", "stderr", "explanation", "reason")


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
