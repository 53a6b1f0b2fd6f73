"""SkyRL: a generator whose trajectories are judged group by group, in addition to their environments' rewards.

SkyRL is never imported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, wraps
from typing import Any, TypeVar, cast

from calipers.config.arguments import require_text
from calipers.errors import ConfigError, InputError
from calipers.trainers.no_signal.rewards import rewards_or_constant
from calipers.trainers.no_signal.run import PATIENCE, JudgedRun, Lasting, Stop, run_for_floats
from calipers.trainers.process import JudgeLike, as_judge, warn_untested
from calipers.trainers.rollouts.groups import rollout_group
from calipers.trainers.rollouts.rows import positions_by_key, rubric_of_row
from calipers.types import GroupResult
from calipers.types.versions import version_fields

__all__ = ["judged"]

Generator = TypeVar("Generator")


def judged(
    generator: type[Generator],
    judge: JudgeLike,
    *,
    rubric: str | None = None,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> type[Generator]:
    """Return a subclass of a SkyRL generator class that adds the judge's reward, in [0, 1], to each trajectory's own
    reward.

    Trajectories with one ``instance_id`` in a batch are judged against one another. If any trajectory of a group stays
    without a score, the judge's reward is the same for the whole group. If a group has one trajectory and no judge was
    asked, the judge adds nothing. A rubric in a row's ``env_extras`` takes precedence over ``rubric``. Step-wise
    trajectories and missing trajectory ids are a ConfigError in the run.
    """
    warn_untested("skyrl", "0.4")
    require_text(rubric=rubric)
    run, base = run_for_floats(as_judge(judge), patience=patience, stop=stop), cast("Any", generator)

    @wraps(base.generate)  # SkyRL inspects the method's arguments
    async def generate(self: Any, input_batch: Any, **options: Any) -> Any:
        output = await base.generate(self, input_batch, **options)
        tokenizer = getattr(self, "tokenizer", None)
        if tokenizer is None:
            raise ConfigError(f"{generator.__name__} has no tokenizer, without which its trajectories cannot be read")
        decode = partial(tokenizer.decode, skip_special_tokens=True)
        texts = [decode(tokens) for tokens in output["response_ids"]]
        extra = await _rewards(run, input_batch, output, texts, rubric=rubric)
        rewards = [_with_judge_reward(own, judged) for own, judged in zip(output["rewards"], extra, strict=True)]
        return {**output, "rewards": rewards}

    return type(f"Judged{generator.__name__}", (generator,), {"generate": generate, "__doc__": generator.__doc__})


async def _rewards(
    run: JudgedRun, batch: Any, output: Any, texts: Sequence[str], *, rubric: str | None
) -> list[float | None]:
    ids, prompts = batch.get("trajectory_ids"), batch["prompts"]
    if output.get("is_last_step") is not None:
        raise ConfigError("step-wise trajectories are not judged: set generator.step_wise_trajectories=false")
    if ids is None or len(texts) != len(ids):
        raise ConfigError(
            "a judge compares the trajectories of a prompt, but these have no trajectory_ids to group them by"
        )
    groups = list(positions_by_key([one.instance_id for one in ids]).values())
    for group in groups:
        if any(prompts[at] != prompts[group[0]] for at in group):
            raise InputError(f"instance {ids[group[0]].instance_id} has several prompts in one batch")
    extras = batch.get("env_extras") or [None] * len(ids)
    asked = [
        rollout_group(
            [texts[at] for at in group],
            prompt=prompts[group[0]],
            rubric=rubric_of_row(extras[group[0]], rubric),
            name=str(ids[group[0]].instance_id),
        )
        | version_fields(*_steps(batch))
        for group in groups
    ]
    return await run.score_positions(groups, asked, _judge_rewards)


def _steps(batch: Any) -> list[Any]:
    """Return the trainer's step when it scheduled a batch, which counts the versions of the policy; empty if unknown.

    The policy may be updated while a fully asynchronous trainer generates.
    """
    step = getattr(batch.get("batch_metadata"), "global_step", None)
    return [] if step is None else [step]


def _judge_rewards(result: GroupResult) -> Sequence[float | None]:
    """Return the judge's rewards of a SkyRL group.

    A single trajectory for which no judge was asked gets None. In evaluation, only its environment rewards it.
    """
    lone = len(result.trajectories) == 1 and result.trajectories[0].score is None
    return [None] if lone else rewards_or_constant(result)


def _with_judge_reward(own: Any, judged: float | None) -> Any:
    total = sum(own) if isinstance(own, list | tuple) else own or 0.0
    if not math.isfinite(total):
        raise InputError(f"an environment gave a reward of {total}, which would reach its whole group")
    if judged is None:
        return own
    if isinstance(own, list | tuple):  # one reward per token; SkyRL compares their sum
        return [*own[:-1], own[-1] + judged] if own else own
    return total + judged
