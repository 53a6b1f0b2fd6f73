"""NeMo-RL: an environment whose reward is the judge's, over the generations of a prompt.

NeMo-RL is imported only to make the environment. Not responsible for NeMo-Gym's servers (``nemo_gym``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.config.arguments import require_above_zero, require_text, require_whole
from calipers.errors import ConfigError, InputError
from calipers.judging.judge import Judge
from calipers.trainers.cohorts.cohort import Cohorts
from calipers.trainers.no_signal.one_float import as_float, complete_cohorts, floats, run_for_floats
from calipers.trainers.no_signal.run import JudgedRun, Stop, require_patience
from calipers.trainers.process.judges import JudgeLike, as_judge
from calipers.trainers.process.versions import warn_untested
from calipers.trainers.rollouts.dataset_rows import rubric_of_row
from calipers.trainers.rollouts.messages import places
from calipers.trainers.rollouts.reasoning import split_reasoning
from calipers.types import Message

__all__ = ["judge_environment"]


def judge_environment(
    judge: JudgeLike,
    *,
    group_size: int,
    rubric: str | None = None,
    deadline: float = 1800.0,
    patience: int | None = None,
    stop: Stop | None = None,
) -> type:
    """An environment class for ``ray.remote`` and NeMo-RL's registry: one turn, the judge's reward, in [0, 1].

    ``group_size`` is ``grpo.num_generations_per_prompt``. A batch is judged prompt by prompt. With asynchronous rollouts
    generations come one by one and wait for their group, ``deadline`` seconds at most. If any generation of a group stays
    without a score, all of the group get the same reward.

    ``judge`` is a judge's name or a function that returns a Judge: Ray sends the class to another process, where
    connections cannot go; ``stop`` travels likewise, so it is a module's function. ``patience`` and ``stop`` are those of
    ``run.JudgedRun``. Raises ConfigError where NeMo-RL is not installed and for settings that cannot work; at run time,
    which ends the run, for a judge that refuses every question, and CalipersError when patience is at its end.
    """
    warn_untested("nemo-rl", "0.6", "0.7")
    if isinstance(judge, Judge):
        raise ConfigError(
            "an environment with a Judge in it cannot be sent to its Ray actor: give judge_environment the judge's name, "
            "or a function of a module that returns the Judge"
        )
    require_text(rubric=rubric)
    require_whole(group_size=group_size)
    require_above_zero(group_size=group_size, deadline=deadline)
    require_patience(patience, stop)
    try:
        import torch  # noqa: PLC0415 - NeMo-RL brings it
        from nemo_rl.environments import interfaces  # noqa: PLC0415 - only where NeMo-RL is used
    except ImportError as error:
        raise ConfigError(f"NeMo-RL is needed, from its repository ({error})") from error
    as_judge(judge)  # so that a judge that cannot work is known here, and not in the actor

    class JudgeEnvironment(interfaces.EnvironmentInterface):  # type: ignore[misc]  # NeMo-RL is not there for the types
        """The reward of one turn, by comparison."""

        def __init__(self, config: Mapping[str, Any] | None = None) -> None:
            self.config = config
            self._run = run_for_floats(as_judge(judge), patience=patience, stop=stop)
            self._cohorts = complete_cohorts(self._run, size=group_size, deadline=deadline)

        async def step(self, message_log_batch: Sequence[Any], metadata: Sequence[Any]) -> Any:
            """Async, so that other steps come in while this one waits for its group."""
            rewards = await _rewards(self._run, self._cohorts, message_log_batch, rubric, metadata)
            count = len(rewards)
            return interfaces.EnvironmentReturn(
                observations=[{"role": "environment", "content": ""} for _ in rewards],
                metadata=list(metadata),
                next_stop_strings=[None] * count,
                rewards=torch.tensor(rewards, dtype=torch.float32),
                terminateds=torch.ones(count, dtype=torch.bool),
                answers=None,
            )

        def global_post_process_and_metrics(self, batch: Any) -> tuple[Any, dict[str, Any]]:
            """The batch as it is: what was not scored is told in the log, where it happens."""
            return batch, {}

    return JudgeEnvironment


async def _rewards(
    run: JudgedRun, cohorts: Cohorts, logs: Sequence[Any], rubric: str | None, metadata: Sequence[Any] = ()
) -> list[float]:
    run.require_running()
    graded = [rubric_of_row(row, rubric) for row in metadata] or [rubric] * len(logs)
    rollouts = [_split(log) for log in logs]
    keys = [json.dumps(prompt, sort_keys=True) for prompt, _ in rollouts]
    if len(logs) == 1:
        prompt, said = rollouts[0]
        common = {"context": prompt, "rubric": graded[0]}
        return [as_float(await cohorts.join(keys[0], {"messages": said}, group=common))]
    groups = list(places(keys).values())
    asked = [
        {
            "context": rollouts[group[0]][0],
            "trajectories": [{"messages": rollouts[place][1]} for place in group],
            "rubric": graded[group[0]],
        }
        for group in groups
    ]
    rewards: dict[int, float] = {}
    for group, result in zip(groups, await run.score(asked), strict=True):
        rewards |= zip(group, floats(result), strict=True)
    return [rewards[place] for place in range(len(logs))]


def _split(log: Sequence[Mapping[str, Any]]) -> tuple[list[Message], list[Message]]:
    """The prompt, and what the policy said to it: what follows from the last message that is not the policy's."""
    messages = [{"role": str(message["role"]), "content": str(message["content"])} for message in log]
    first = next((place for place, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
    if first == 0:
        raise InputError("a message log begins with the policy's own message, so there is no prompt to judge it by")
    return [*messages[:first]], [split_reasoning(message) for message in messages[first:]]
