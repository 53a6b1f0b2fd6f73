"""verifiers 0.4 and prime-rl: judge the finished rollouts of an episode against one another.

``best_of_n`` makes the environment; ``judge_episode`` is for the ``finalize`` of your own environment. verifiers is
imported only to make the environment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from calipers.config.arguments import require_one_of
from calipers.errors import CalipersError, InputError
from calipers.trainers.no_signal.rewards import trajectory_rewards, unscored_trajectories
from calipers.trainers.no_signal.run import (
    PATIENCE,
    Lasting,
    Stop,
    one_line,
    reasons_by_member,
    require_patience,
    shared_run,
)
from calipers.trainers.process import JudgeLike, as_judge, import_engine, warn_untested
from calipers.trainers.rollouts.groups import rollout_group
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
    warn_untested("verifiers", "0.4")
    require_patience(patience, stop)
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
) -> GroupResult:
    """Judge an episode's finished traces for a trainer with the library verifiers.

    They are judged against one another. Each reward, in [0, 1], is recorded under ``name``.

    The traces are those of ``agent``, or of all trainable agents. A trace that the judge leaves unscored gets no reward
    and is marked as not trainable, so that prime-rl computes the baseline from its siblings alone. ``trace.info[name]``
    has the judge's score and explanation of each trace.

    In verifiers one failed rollout fails the whole episode. So this function raises before the judge is paid. With
    ``lost="leave_out"`` it instead removes failed traces from the episode and judges the rest.

    Raises CalipersError if no trace could be scored. This fails the episode: verifiers stores it without a reward, and
    prime-rl does not train on it. Raises InputError for a trace whose other rewards are not finite. verifiers treats
    every error as a failure of an episode and continues, so ``stop=interrupt`` (of ``no_signal.run``) is needed to end
    its process.
    """
    require_one_of(("fail", "leave_out"), lost=lost)
    run = shared_run(as_judge(judge), patience, stop, min_scored=1, consequence="so its episode fails")
    run.require_running()
    members = [trace for trace in episode.traces if _is_judged(trace, agent)]
    failed = [trace for trace in members if not trace.ok]
    if failed and lost == "fail":
        last = failed[-1].last_error
        why = f"; the last with {last.type}: {last.message}" if last is not None else ""
        raise CalipersError(f"{len(failed)} of {len(members)} rollouts failed, and so does their episode{why}")
    finished = [trace for trace in members if trace.ok]
    _require_usable_rewards(finished, name)
    if not finished:
        raise CalipersError(f"none of the episode's {len(members)} rollouts finished, so there is nothing to judge")
    group = rollout_group([_trajectory_object(trace) for trace in finished], rubric=rubric, name=episode.id)
    result = await run.score_group(group)
    rewards = trajectory_rewards(result)
    if not any(reward is not None for reward in rewards):
        why = reasons_by_member(unscored_trajectories(result.trajectories), len(finished))
        group_id = one_line(result.group_id, 80)
        raise CalipersError(f"none of {len(finished)} rollouts could be scored: {why} (group {group_id})")
    episode.traces[:] = [trace for trace in episode.traces if not any(trace is other for other in failed)]
    for trace, reward, one in zip(finished, rewards, result.trajectories, strict=True):
        _record_reward(trace, name, reward, weight, one)
    return result


def _is_judged(trace: Any, agent: str | None) -> bool:
    return bool(trace.agent.trainable) if agent is None else trace.agent.name == agent


def _require_usable_rewards(traces: Sequence[Any], name: str) -> None:
    for trace in traces:
        if name in trace.rewards:
            raise InputError(f"trace {trace.id} already has a reward named {name!r}: choose another name=")
        if not math.isfinite(trace.reward):
            raise InputError(
                f"trace {trace.id} has a reward of {trace.reward} from its task, which would spoil the advantages of "
                "its whole group: a task's own reward has to be a finite number"
            )


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
