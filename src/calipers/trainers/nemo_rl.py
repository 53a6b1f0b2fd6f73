"""NeMo-RL: an environment that judges the generations of a prompt against one another.

NeMo-RL is imported only to make the environment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.config.arguments import require_above_zero, require_text, require_whole
from calipers.errors import ConfigError, InputError
from calipers.judging.judge import Judge
from calipers.trainers.cohorts import Cohorts
from calipers.trainers.no_signal.rewards import rewards_or_constant
from calipers.trainers.no_signal.run import (
    PATIENCE,
    JudgedRun,
    Lasting,
    Stop,
    complete_cohorts,
    float_reward,
    require_patience,
    run_for_floats,
)
from calipers.trainers.process import JudgeLike, as_judge, import_engine, warn_untested
from calipers.trainers.rollouts.rows import positions_by_key, rubric_of_row, split_reasoning
from calipers.types import Message

__all__ = ["judge_environment"]


def judge_environment(
    judge: JudgeLike,
    *,
    group_size: int,
    rubric: str | None = None,
    deadline: float = 1800.0,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> type:
    """Return an environment class for ``ray.remote`` and NeMo-RL's registry: one turn, rewarded by the judge in [0, 1].

    ``group_size`` is ``grpo.num_generations_per_prompt``. A batch is judged prompt by prompt. Asynchronous rollouts
    arrive one by one and wait for their group, for at most ``deadline`` seconds. If any generation of a group stays
    without a score, the whole group gets the same reward.

    ``judge`` is a judge's name or a function that returns a Judge, and ``stop`` a module's function: Ray sends the
    class to another process, and connections cannot be sent.
    """
    warn_untested("nemo-rl", "0.6", "0.7")
    if isinstance(judge, Judge):
        raise ConfigError(
            "an environment that holds a Judge cannot be sent to its Ray actor: pass the judge's name, or a module's "
            "function that returns the Judge"
        )
    require_text(rubric=rubric)
    require_whole(group_size=group_size)
    require_above_zero(group_size=group_size, deadline=deadline)
    require_patience(patience, stop)
    torch, interfaces = (
        import_engine(module, remedy="NeMo-RL is needed, from its repository")
        for module in ("torch", "nemo_rl.environments.interfaces")
    )
    as_judge(judge)  # an invalid judge must raise here, not in the Ray actor

    base: Any = interfaces.EnvironmentInterface

    class JudgeEnvironment(base):  # type: ignore[misc]  # NeMo-RL is not there for the types
        """Rewards one turn by comparing it with the other generations of its group."""

        def __init__(self, config: Mapping[str, Any] | None = None) -> None:
            self.config = config
            self._run = run_for_floats(as_judge(judge), patience=patience, stop=stop)
            self._cohorts = complete_cohorts(self._run, size=group_size, deadline=deadline)

        async def step(self, message_log_batch: Sequence[Any], metadata: Sequence[Any]) -> Any:
            """Return the rewards of a NeMo-RL batch. While this step waits for its group, other steps can arrive."""
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
            """Return the batch unchanged and no metrics: a lost group is logged as soon as it is lost."""
            return batch, {}

    return JudgeEnvironment


async def _rewards(
    run: JudgedRun, cohorts: Cohorts, logs: Sequence[Any], rubric: str | None, metadata: Sequence[Any] = ()
) -> list[float]:
    run.require_running()
    rubrics = [rubric_of_row(row, rubric) for row in metadata] or [rubric] * len(logs)
    rollouts = [_prompt_and_rollout(log) for log in logs]
    keys = [json.dumps(prompt, sort_keys=True) for prompt, _ in rollouts]
    if len(logs) == 1:
        prompt, answer = rollouts[0]
        common = {"context": prompt, "rubric": rubrics[0]}
        return [float_reward(await cohorts.join(keys[0], {"messages": answer}, group=common))]
    groups = list(positions_by_key(keys).values())
    asked = [
        {
            "context": rollouts[group[0]][0],
            "trajectories": [{"messages": rollouts[at][1]} for at in group],
            "rubric": rubrics[group[0]],
        }
        for group in groups
    ]
    return await run.score_positions(groups, asked, rewards_or_constant)


def _prompt_and_rollout(log: Sequence[Mapping[str, Any]]) -> tuple[list[Message], list[Message]]:
    """Return the prompt and the rollout, which begins with the first message of the policy."""
    messages = [{"role": str(message["role"]), "content": str(message["content"])} for message in log]
    first = next((at for at, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
    if first == 0:
        raise InputError("a message log begins with the policy's own message, so it has no prompt")
    return [*messages[:first]], [split_reasoning(message) for message in messages[first:]]
