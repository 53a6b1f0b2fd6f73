"""The fallback for verl: a reward manager in which the rollouts of a prompt find one another again.

verl hands each finished rollout to one of its reward workers, drawn at random, so this needs there to be one. The agent
loop (``verl_agent_loop``) has no such limits, and should be used where it can. Needs verl; reached through
``calipers.trainers.verl``.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from calipers.errors import ConfigError
from calipers.trainers.cohorts.cohort import Cohorts
from calipers.trainers.process import blocking
from calipers.trainers.rollouts.reasoning import split_reasoning
from calipers.trainers.verl.agent_loop import extra_info, run_in_verl, settings_of, validates
from calipers.trainers.verl.recipes import head_of, scorer_of
from calipers.trainers.verl.settings import VerlSettings, make_judge

_log = logging.getLogger(__name__)

_AT_ONCE: Final = 1000
"""Calls an asynchronous Ray actor lets in at a time: with that many waiting, the siblings they wait for stay outside."""


class RewardManager(RewardManagerBase):  # type: ignore[misc]  # verl has no types
    """Rewards from a judge of whole groups, for ``reward.reward_manager.source=importlib``.

    A rollout that gets no reward raises, and fails. Siblings that were lost are not told of: their group is judged without
    them after ``+calipers.wait`` seconds. Raises ConfigError where the limits of this way in are not kept, and for a judge
    that cannot be reached.
    """

    def __init__(self, config: Any, tokenizer: Any, compute_score: Any = None, **_: Any) -> None:
        super().__init__(config, tokenizer, compute_score)
        self._settings = settings_of(config)
        require_limits(config, self._settings)
        self._judge = make_judge(self._settings)
        for warning in blocking.run(self._judge.check()):
            _log.warning("the judge: %s", warning)
        scorer = scorer_of(self._settings, self._judge)
        self._run = run_in_verl(self._judge, self._settings)
        self._cohorts = Cohorts(
            self._run.around(scorer.score_group),
            size=config.actor_rollout_ref.rollout.n,
            preparing=scorer.preparing,
            quorum=self._settings.min_group,
            deadline=self._settings.wait,
            lost=self._run.lost_before_judging,
        )

    async def run_single(self, data: Any) -> dict[str, Any]:
        """The reward of the last sequence of a rollout, once its siblings are there. Raises CalipersError without one."""
        self._run.require_running()
        item = data[-1:][0]
        row = item.non_tensor_batch
        tokens = item.batch["responses"]
        count = int(item.batch["attention_mask"][-len(tokens) :].sum())
        text = str(self.tokenizer.decode(tokens[:count], skip_special_tokens=True))
        member = {"id": str(row["session_id"]), "messages": [split_reasoning({"role": "assistant", "content": text})]}
        group = head_of(row, self._settings, rubric=self._judge.settings.standards)
        share = await self._cohorts.join(row["uid"], member, group=group)
        return {"reward_score": share.required(), "reward_extra_info": extra_info(share, self._settings)}


def require_limits(config: Any, settings: VerlSettings) -> None:
    """Raise ConfigError where the rollouts of a prompt could not all meet in this one reward worker."""
    instead = "or use actor_rollout_ref.rollout.agent.agent_loop_manager_class=calipers.trainers.verl.AgentLoopManager"
    rollout, workers = config.actor_rollout_ref.rollout, config.reward.num_workers
    if workers != 1:
        raise ConfigError(
            f"reward.num_workers={workers}: the rollouts of a prompt must meet in one; set it to 1, {instead}"
        )
    if rollout.n < settings.min_group:
        raise ConfigError(
            f"actor_rollout_ref.rollout.n={rollout.n}: a group needs at least {settings.min_group} rollouts"
        )
    if validates(config) and rollout.val_kwargs.n != rollout.n:
        raise ConfigError(
            f"actor_rollout_ref.rollout.val_kwargs.n={rollout.val_kwargs.n} and rollout.n={rollout.n}: verl does not tell "
            f"reward managers which of the two a rollout is of; make them equal, {instead}"
        )
    at_once = config.data.train_batch_size * rollout.n
    if at_once > _AT_ONCE:
        raise ConfigError(
            f"data.train_batch_size * rollout.n = {at_once}: a reward worker takes {_AT_ONCE} rollouts at a time, and those "
            f"waiting in it can keep the siblings they wait for out; make it {_AT_ONCE} or fewer, {instead}"
        )
