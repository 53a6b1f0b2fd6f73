"""SkyRL: a generator whose trajectories are judged group by group, in addition to their environments' rewards.

SkyRL is never imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from calipers.errors import ConfigError
from calipers.trainers.process import JudgeLike
from calipers.trainers.rewards import rewards_or_constant
from calipers.trainers.rows import rubric_of_row
from calipers.trainers.run import PATIENCE, Lasting, Row, Stop, finite_reward, run_for_floats
from calipers.trainers.run import judged as judged_rows
from calipers.types import GroupResult
from calipers.types.versions import version_fields

__all__ = ["judged"]

Generator = TypeVar("Generator")


def judged(
    generator: type[Generator], judge: JudgeLike, *, patience: Lasting = PATIENCE, stop: Stop | None = None
) -> type[Generator]:
    """Return a subclass of a SkyRL generator class that adds the judge's reward, in [0, 1], to each trajectory's own
    reward.

    Trajectories with one ``instance_id`` in a batch are judged against one another. If any trajectory of a group stays
    without a score, the judge's reward is the same for the whole group. A rubric in a row's ``env_extras`` replaces the
    judge's. Step-wise trajectories and missing trajectory ids are a ConfigError in the run.
    """
    run = run_for_floats(judge, patience=patience, stop=stop)
    base = cast("Any", generator)

    @wraps(base.generate)  # SkyRL inspects the method's arguments
    async def generate(self: Any, input_batch: Any, **options: Any) -> Any:
        output = await base.generate(self, input_batch, **options)
        extra = await judged_rows(run, _rows(input_batch, output, self.tokenizer), _judge_rewards)
        rewards = [_with_judge_reward(base, reward) for base, reward in zip(output["rewards"], extra, strict=True)]
        return {**output, "rewards": rewards}

    return type(f"Judged{generator.__name__}", (generator,), {"generate": generate, "__doc__": generator.__doc__})


def _rows(batch: Any, output: Any, tokenizer: Any) -> list[Row]:
    ids, answers = batch.get("trajectory_ids"), output["response_ids"]
    if output.get("is_last_step") is not None:
        raise ConfigError("step-wise trajectories are not judged: set generator.step_wise_trajectories=false")
    if ids is None or len(answers) != len(ids):
        raise ConfigError(
            "a judge compares the trajectories of a prompt, but these have no trajectory_ids to group them by"
        )
    # The trainer's step when it scheduled the batch counts the versions of the policy.
    step = getattr(batch.get("batch_metadata"), "global_step", None)
    return [
        Row(
            key=trajectory_id.instance_id,
            member=tokenizer.decode(answer, skip_special_tokens=True),
            prompt=prompt,
            rubric=rubric_of_row(extras),
            name=str(trajectory_id.instance_id),
            extra={} if step is None else version_fields(step),
        )
        for trajectory_id, answer, prompt, extras in zip(
            ids, answers, batch["prompts"], batch.get("env_extras") or [None] * len(ids), strict=True
        )
    ]


def _judge_rewards(result: GroupResult) -> Sequence[float | None]:
    # In evaluation a single trajectory, for which no judge was asked, is rewarded by its environment alone: SkyRL
    # counts every reward above 0 as a success.
    lone = len(result.trajectories) == 1 and result.trajectories[0].score is None
    return [None] if lone else rewards_or_constant(result)


def _with_judge_reward(own: Any, reward: float | None) -> Any:
    by_token = isinstance(own, list | tuple)  # one reward per token; SkyRL compares their sum
    total = finite_reward(sum(own) if by_token else own, "a trajectory")
    if reward is None:
        return own
    if by_token:
        return [*own[:-1], own[-1] + reward] if own else own
    return total + reward
