"""AReaL: a rollout workflow that rolls a prompt out several times and has the rollouts judged against one another.

AReaL is imported only to join its tensors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import dropwhile, groupby
from operator import itemgetter
from typing import Any

from calipers.config.arguments import require_above_zero, require_whole
from calipers.errors import ConfigError
from calipers.trainers.process import JudgeLike, as_judge
from calipers.trainers.rewards import rewards_or_none
from calipers.trainers.rows import rubric_of_row, version_metadata
from calipers.trainers.run import PATIENCE, JudgedRun, Lasting, Row, Stop, finite_reward, judged

__all__ = ["judged_group"]


def judged_group(
    workflow: type, judge: JudgeLike, *, size: int, patience: Lasting = PATIENCE, stop: Stop | None = None
) -> type:
    """Return a subclass of AReaL's ``workflow`` whose episodes are ``size`` of its rollouts, with the judge's rewards,
    in [0, 1], added to their own.

    The subclass takes ``workflow``'s arguments. If a rollout of an episode was lost, or the judge leaves it unscored,
    the whole episode is rejected. AReaL normalises slices of a fixed size, so a missing member would shift all later
    groups.

    AReaL rejects an episode that raises anything and continues; ``stop=interrupt`` (of ``run``) ends its run. AReaL
    itself must not group: set ``gconfig.n_samples=1``, and ``group_size=size`` in ``reward_norm`` and ``adv_norm``. In
    the run a rollout whose own reward is not finite is an InputError.
    """
    require_whole(size=size)
    require_above_zero(size=size)
    run = JudgedRun(as_judge(judge), patience=patience, stop=stop, consequence="so it is rejected")

    class JudgedGroup(workflow):  # type: ignore[misc]  # the caller's class
        """Runs AReaL's ``workflow`` several times per episode."""

        async def arun_episode(self, engine: Any, data: Mapping[str, Any]) -> dict[str, Any] | None:
            run.require_running()
            roll_out = super().arun_episode
            rollouts = await asyncio.gather(*(roll_out(engine, data) for _ in range(size)))
            if any(rollout is None for rollout in rollouts):
                return None
            rows = [_row(data, rollout, number, self.tokenizer) for number, rollout in enumerate(rollouts, start=1)]
            rewards = await judged(run, rows, rewards_or_none)
            if None in rewards:
                return None
            from areal.utils.data import concat_padded_tensors  # noqa: PLC0415 - only where AReaL is used

            totals = [
                {**rollout, "rewards": rollout["rewards"] + reward}
                for rollout, reward in zip(rollouts, rewards, strict=True)
            ]
            joined: dict[str, Any] = concat_padded_tensors(totals)
            return joined

    return JudgedGroup


def _row(data: Mapping[str, Any], rollout: Any, number: int, tokenizer: Any) -> Row:
    """Return a rollout, the tensors of one trajectory of AReaL, as a row."""
    fields = rollout.keys() if isinstance(rollout, Mapping) else ()
    if not {"loss_mask", "rewards"} <= set(fields) or len(rollout["rewards"]) != 1:
        raise ConfigError(
            "the workflow's episodes are not the tensors of one rollout, with 'loss_mask' and 'rewards': judged_group "
            "works with workflows such as RLVRWorkflow with gconfig.n_samples=1, not with agents behind AReaL's proxy"
        )
    finite_reward(rollout["rewards"][0], f"rollout {number}")
    sampled, tokens = (rollout[name][0].tolist() for name in ("loss_mask", "input_ids"))
    versions = rollout["versions"][0].tolist() if "versions" in rollout else []
    noted = version_metadata(*(version for used, version in zip(sampled, versions, strict=False) if used))
    return Row(
        key=None,
        member={"messages": _replies(sampled, tokens, tokenizer), **noted},
        prompt=data.get("messages"),
        rubric=rubric_of_row(data),
        name=next((str(data[key]) for key in ("query_id", "id") if data.get(key) is not None), None),
    )


def _replies(sampled: list[int], tokens: list[int], tokenizer: Any) -> list[Mapping[str, Any]]:
    """Return the messages after the prompt. Runs of sampled tokens are the assistant's, those in between the user's."""
    runs = [
        ("assistant" if is_sampled else "user", [token for _, token in run])
        for is_sampled, run in groupby(zip(sampled, tokens, strict=True), key=itemgetter(0))
    ]
    return [
        {"role": role, "content": tokenizer.decode(part, skip_special_tokens=True)}
        for role, part in dropwhile(lambda run: run[0] == "user", runs)
    ]
