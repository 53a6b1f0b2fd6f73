"""verifiers 0.4 and prime-rl: judge the finished rollouts of an episode against one another.

``best_of_n`` makes the environment; ``judge_episode`` is for the ``finalize`` of your own environment. verifiers is
imported only to make the environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from calipers.config.arguments import require_one_of
from calipers.errors import CalipersError, InputError
from calipers.trainers.process import JudgeLike, import_engine
from calipers.trainers.rewards import trajectory_rewards
from calipers.trainers.run import (
    PATIENCE,
    Lasting,
    Row,
    Stop,
    finite_reward,
    judged,
    require_settings,
    shared_run,
)
from calipers.types import GroupResult, TrajectoryResult

__all__ = ["best_of_n", "judge_episode"]

Lost = Literal["fail", "leave_out"]


def best_of_n(
    judge: JudgeLike,
    *,
    name: str = "judge",
    weight: float = 1.0,
    rubric: str | Callable[[Any], str | None] | None = None,
    lost: Lost = "fail",
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> type:
    """Return a best-of-n environment for trainers with the library verifiers: ``judge`` compares a task's rollouts.

    Assign it to a name in a module, where verifiers finds it. ``rubric`` is text, or a function from the task to text.
    The other arguments are those of ``judge_episode``.
    """
    require_settings("verifiers", patience=patience, stop=stop)
    remedy = "verifiers 0.4 or newer is needed: pip install 'verifiers>=0.4'"
    best_of_n_env: Any = import_engine("verifiers.v1.envs.best_of_n.env", remedy=remedy).BestOfNEnv

    class JudgedBestOfN(best_of_n_env):  # type: ignore[misc]  # verifiers is not there when types are checked
        """Adds the judge's reward to each rollout's rewards from the task."""

        async def finalize(self, task: Any, episode: Any) -> None:
            text = rubric(task) if callable(rubric) else rubric
            await judge_episode(
                episode, judge, name=name, weight=weight, rubric=text, lost=lost, patience=patience, stop=stop
            )

    return JudgedBestOfN


async def judge_episode(  # noqa: PLR0913 - keywords
    episode: Any,
    judge: JudgeLike,
    *,
    agent: str | None = None,
    name: str = "judge",
    weight: float = 1.0,
    rubric: str | None = None,
    lost: Lost = "fail",
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> None:
    """Judge an episode's finished traces for a trainer with the library verifiers.

    They are judged against one another. Each reward, in [0, 1], is recorded under ``name``.

    The traces are those of ``agent``, or of all trainable agents. A trace that the judge leaves unscored gets no reward
    and is marked as not trainable, so that prime-rl computes the baseline from its siblings alone. ``trace.info[name]``
    has the judge's score and explanation of each trace.

    In verifiers one failed rollout fails the whole episode. So this function raises before the judge is paid. With
    ``lost="leave_out"`` it instead removes failed traces from the episode and judges the rest.

    Raises CalipersError if no trace could be scored. This fails the episode: verifiers stores it without a reward, and
    prime-rl does not train on it. Raises InputError for a trace whose other rewards are not finite. verifiers treats
    every error as a failure of an episode and continues, so ``stop=interrupt`` (of ``run``) is needed to end
    its process.
    """
    require_one_of(("fail", "leave_out"), lost=lost)
    run = shared_run(judge, patience, stop, min_scored=1, consequence="so its episode fails")
    members = [
        trace for trace in episode.traces if (trace.agent.trainable if agent is None else trace.agent.name == agent)
    ]
    failed = [trace for trace in members if not trace.ok]
    if failed and lost == "fail":
        last = failed[-1].last_error
        why = f"; the last with {last.type}: {last.message}" if last is not None else ""
        raise CalipersError(f"{len(failed)} of {len(members)} rollouts failed, and so does their episode{why}")
    finished = [trace for trace in members if trace.ok]
    for trace in finished:
        if name in trace.rewards:
            raise InputError(f"trace {trace.id} already has a reward named {name!r}: choose another name=")
        finite_reward(trace.reward, f"trace {trace.id}")
    if not finished:
        raise CalipersError(f"none of the episode's {len(members)} rollouts finished, so there is nothing to judge")
    rows = [Row(None, _trajectory_object(trace), rubric=rubric, name=episode.id) for trace in finished]
    results = await judged(run, rows, _rewarded_rows)
    if not any(reward is not None for reward, _ in results):
        raise CalipersError(f"none of {len(finished)} rollouts could be scored: {results[0][1].reason}")
    episode.traces[:] = [trace for trace in episode.traces if not any(trace is other for other in failed)]
    for trace, (reward, one) in zip(finished, results, strict=True):
        _record_reward(trace, name, reward, weight, one)


def _rewarded_rows(result: GroupResult) -> list[tuple[float | None, TrajectoryResult]]:
    return list(zip(trajectory_rewards(result), result.trajectories, strict=True))


def _trajectory_object(trace: Any) -> dict[str, Any]:
    """Return a verifiers trace as a trajectory object of a groups file. Its branches follow one after the other."""
    histories = [
        {
            "messages_and_choices": [_message(message) for message in branch.messages],
            "tools": [tool.model_dump(exclude_none=True) for tool in branch.tools],
        }
        for branch in trace.branches
        if branch.trainable
    ]
    first, *more = histories or [{"messages_and_choices": [], "tools": []}]
    return {"id": trace.id, **first, "additional_histories": more}


def _message(message: Any) -> dict[str, Any]:
    fields: dict[str, Any] = message.model_dump(exclude_none=True)
    fields.pop("provider_state", None)  # encrypted reasoning, which only the provider can read
    if calls := fields.pop("tool_calls", None):
        fields["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": _full_name(call), "arguments": call["arguments"]},
            }
            for call in calls
        ]
    return fields


def _full_name(call: dict[str, Any]) -> str:
    return f"{call['namespace']}.{call['name']}" if call.get("namespace") else str(call["name"])


def _record_reward(trace: Any, name: str, reward: float | None, weight: float, one: TrajectoryResult) -> None:
    trace.info[name] = {
        "status": one.status,
        "score": one.score,
        "stderr": one.stderr,
        "explanation": one.explanation,
        "reason": one.reason,
    }
    if reward is None:
        trace.rewards[name] = None  # how verifiers stores a missing reward
        trace.agent.trainable = False
    else:
        trace.record_reward(name, reward, weight)
