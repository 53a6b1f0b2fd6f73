"""verifiers 0.4 and prime-rl: the rollouts of one episode, judged against one another when they have finished.

``best_of_n`` makes the environment, ``judge_episode`` is for ``finalize`` of one's own. verifiers is imported only to
make the environment: episodes are read as they come. Not responsible for how rollouts come about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from calipers.config.arguments import require_one_of
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.trainers.no_signal.lost_groups import named, reasons
from calipers.trainers.no_signal.rewards import rows, unscored
from calipers.trainers.no_signal.run import Stop, require_patience, shared_run
from calipers.trainers.process.judges import JudgeLike, as_judge
from calipers.trainers.process.versions import warn_untested
from calipers.trainers.rollouts.groups import judgeable_group
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
    patience: int | None = None,
    stop: Stop | None = None,
) -> type:
    """The best-of-n environment of verifiers, its attempts scored by ``judge`` against one another: export it from a module.

    ``rubric`` is text, or a function from the task to text. The other arguments are ``judge_episode``'s. Raises ConfigError
    where verifiers 0.4 is not installed.
    """
    warn_untested("verifiers", "0.4")
    require_patience(patience, stop)
    try:
        from verifiers.v1.envs.best_of_n.env import BestOfNEnv  # noqa: PLC0415 - only where verifiers is used
    except ImportError as error:
        raise ConfigError(f"verifiers 0.4 or newer is needed: pip install 'verifiers>=0.4' ({error})") from error

    class JudgedBestOfN(BestOfNEnv):  # type: ignore[misc]  # verifiers is not there when types are checked
        """Each attempt's reward is the judge's, beside those of the task itself."""

        async def finalize(self, task: Any, episode: Any) -> None:
            text = rubric(task) if callable(rubric) else rubric
            await judge_episode(
                episode, judge, name=name, weight=weight, rubric=text, lost=lost, patience=patience, stop=stop
            )

    return JudgedBestOfN


async def judge_episode(  # noqa: PLR0913 - they are keywords
    episode: Any,
    judge: JudgeLike,
    *,
    agent: str | None = None,
    name: str = "judge",
    weight: float = 1.0,
    rubric: str | None = None,
    lost: Lost = "fail",
    patience: int | None = None,
    stop: Stop | None = None,
) -> GroupResult:
    """Judge an episode's finished traces against one another, and record each one's reward under ``name``, in [0, 1].

    The traces are those of ``agent``, or of all trainable agents. One that the judge leaves unscored gets no reward, and
    is marked as not trainable: prime-rl's baseline is then that of its siblings alone. What the judge said of each is in
    ``trace.info[name]``.

    A sibling whose rollout failed fails the whole episode in verifiers: so this raises before the judge is paid, or, with
    ``lost="leave_out"``, takes such traces out of the episode and judges the rest.

    Raises CalipersError when no trace could be scored, which fails the episode: verifiers keeps it without a reward, and
    prime-rl trains on none of it. InputError for a trace whose other rewards are not finite. ConfigError for a judge that
    refuses every question, and CalipersError when patience is at its end, from then on for every episode: verifiers takes
    both for failures of an episode and goes on, so ``stop=interrupt`` (of ``calipers.trainers.no_signal.run``) is what ends its
    process. ``patience`` and ``stop`` are those of ``run.JudgedRun``.
    """
    require_one_of(("fail", "leave_out"), lost=lost)
    run = shared_run(as_judge(judge), patience, stop, needed=1, then="so its episode fails")
    run.require_running()
    members = [trace for trace in episode.traces if _is_asked_about(trace, agent)]
    gone = [trace for trace in members if not trace.ok]
    if gone and lost == "fail":
        last = gone[-1].last_error
        told = f"; the last said {last.type}: {last.message}" if last is not None else ""
        raise CalipersError(f"{len(gone)} of {len(members)} rollouts failed, and with them their episode{told}")
    finished = [trace for trace in members if trace.ok]
    _check(finished, name)
    if not finished:
        raise CalipersError(f"none of the episode's {len(members)} rollouts finished, so there is nothing to judge")
    group = judgeable_group([_readable(trace) for trace in finished], rubric=rubric, name=episode.id)
    result = await run.score_group(group)
    rewards = rows(result)
    if not any(reward is not None for reward in rewards):
        why = reasons(unscored(result.trajectories), len(finished))
        raise CalipersError(f"none of {len(finished)} rollouts could be scored: {why} (group {named(result.group_id)})")
    episode.traces[:] = [trace for trace in episode.traces if not any(trace is other for other in gone)]
    for trace, reward, one in zip(finished, rewards, result.trajectories, strict=True):
        _record(trace, name, reward, weight, one)
    return result


def _is_asked_about(trace: Any, agent: str | None) -> bool:
    return bool(trace.agent.trainable) if agent is None else trace.agent.name == agent


def _check(traces: Sequence[Any], name: str) -> None:
    for trace in traces:
        if name in trace.rewards:
            raise InputError(f"trace {trace.id} already has a reward named {name!r}: give the judge's another name=")
        if not math.isfinite(trace.reward):
            raise InputError(
                f"trace {trace.id} has a reward of {trace.reward} from its task, which would become its whole group's"
            )


def _readable(trace: Any) -> dict[str, Any]:
    """A groups-file object; a trace of several branches is laid out one after the other, as ART's histories are."""
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
    fields.pop("provider_state", None)  # sealed reasoning, for the provider alone
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


def _record(trace: Any, name: str, reward: float | None, weight: float, one: TrajectoryResult) -> None:
    trace.info[name] = {
        "status": one.status,
        "score": one.score,
        "stderr": one.stderr,
        "explanation": one.explanation,
        "reason": one.reason,
    }
    if reward is None:
        trace.rewards[name] = None  # verifiers' own word for a reward that was not given
        trace.agent.trainable = False
    else:
        trace.record_reward(name, reward, weight)
