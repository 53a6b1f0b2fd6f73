"""NeMo-RL: an environment that judges the generations of a prompt against one another.

NeMo-RL is imported only to make the environment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.config.arguments import require_above_zero, require_whole
from calipers.errors import InputError
from calipers.registry import import_library
from calipers.trainers.process import JudgeLike
from calipers.trainers.rewards import rewards_or_constant
from calipers.trainers.rows import rubric_of_row
from calipers.trainers.run import PATIENCE, Lasting, Row, Stop, complete_cohorts, float_reward, judged, run_for_floats

__all__ = ["judge_environment"]


def judge_environment(
    judge: JudgeLike,
    *,
    group_size: int,
    deadline: float = 1800.0,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> type:
    """Return an environment class for ``ray.remote`` and NeMo-RL's registry: one turn, rewarded by the judge in [0, 1].

    ``group_size`` is ``grpo.num_generations_per_prompt``. A batch is judged prompt by prompt. Asynchronous rollouts
    arrive one by one and wait for their group, for at most ``deadline`` seconds. If any generation of a group stays
    without a score, the whole group gets the same reward.

    Ray sends the class to another process, so ``judge`` and ``stop`` must be picklable: a judge's name, a Judge, or a
    module's function.
    """
    require_whole(group_size=group_size)
    require_above_zero(group_size=group_size, deadline=deadline)
    torch, interfaces = (
        import_library(module, remedy="NeMo-RL is needed, from its repository")
        for module in ("torch", "nemo_rl.environments.interfaces")
    )
    run_for_floats(judge, patience=patience, stop=stop)  # what is invalid must raise here, not in the Ray actor
    base: Any = interfaces.EnvironmentInterface

    class JudgeEnvironment(base):  # type: ignore[misc]  # NeMo-RL is not there for the types
        """Rewards one turn by comparing it with the other generations of its group."""

        def __init__(self, config: Mapping[str, Any] | None = None) -> None:
            self.config = config
            self._run = run_for_floats(judge, patience=patience, stop=stop)
            self._cohorts = complete_cohorts(self._run, size=group_size, deadline=deadline)

        async def step(self, message_log_batch: Sequence[Any], metadata: Sequence[Any]) -> Any:
            """Return the rewards of a NeMo-RL batch. While this step waits for its group, other steps can arrive."""
            self._run.require_running()
            rows = [_row(log, about) for log, about in zip(message_log_batch, metadata, strict=True)]
            if len(rows) == 1:
                common = {"context": rows[0].prompt, "rubric": rows[0].rubric}
                rewards = [float_reward(await self._cohorts.join(rows[0].key, rows[0].member, group=common))]
            else:
                rewards = await judged(self._run, rows, rewards_or_constant)
            return interfaces.EnvironmentReturn(
                observations=[{"role": "environment", "content": ""} for _ in rewards],
                metadata=list(metadata),
                next_stop_strings=[None] * len(rewards),
                rewards=torch.tensor(rewards, dtype=torch.float32),
                terminateds=torch.ones(len(rewards), dtype=torch.bool),
                answers=None,
            )

        def global_post_process_and_metrics(self, batch: Any) -> tuple[Any, dict[str, Any]]:
            """Return the batch unchanged and no metrics: a lost group is logged as soon as it is lost."""
            return batch, {}

    return JudgeEnvironment


def _row(log: Sequence[Mapping[str, Any]], about: Any) -> Row:
    """Return a message log as a row; the rollout begins with the first message of the policy."""
    messages = [{"role": str(message["role"]), "content": str(message["content"])} for message in log]
    first = next((at for at, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
    if first == 0:
        raise InputError("a message log begins with the policy's own message, so it has no prompt")
    prompt, answer = messages[:first], {"messages": messages[first:]}
    return Row(json.dumps(prompt, sort_keys=True), answer, prompt, rubric_of_row(about))
