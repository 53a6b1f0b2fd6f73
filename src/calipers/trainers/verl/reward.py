"""The fallback for verl: a reward manager that collects the rollouts of a prompt.

verl passes each finished rollout to a random reward worker, so there must be only one worker. The agent loop
(``verl.agent_loop``) has no such limits; use it if you can. Needs verl; import it through ``calipers.trainers.verl``.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from calipers.errors import ConfigError
from calipers.trainers.cohorts.cohort import Cohorts
from calipers.trainers.process import blocking
from calipers.trainers.rollouts.messages import assistant_message
from calipers.trainers.verl.agent_loop import has_validation, judged_run, logged_extra_info, settings_in_config
from calipers.trainers.verl.recipes import common_group_fields, group_scorer
from calipers.trainers.verl.settings import VerlSettings, make_judge

_log = logging.getLogger(__name__)

_MAX_CALLS: Final = 1000
"""The most concurrent calls of an asynchronous Ray actor. If that many rollouts wait, their siblings cannot enter."""


class RewardManager(RewardManagerBase):  # type: ignore[misc]  # verl has no types
    """verl's reward manager with rewards from a judge of whole groups, for ``reward.reward_manager.source=importlib``.

    A rollout that gets no reward raises, and fails. verl does not report lost siblings, so a group is judged without
    them after ``+calipers.wait`` seconds. Raises ConfigError for a configuration that exceeds this manager's limits,
    and for a judge that cannot be reached.
    """

    def __init__(self, config: Any, tokenizer: Any, compute_score: Any = None, **_: Any) -> None:
        super().__init__(config, tokenizer, compute_score)
        self._settings = settings_in_config(config)
        require_limits(config, self._settings)
        self._judge = make_judge(self._settings)
        for warning in blocking.run_coroutine(self._judge.check()):
            _log.warning("the judge: %s", warning)
        scorer = group_scorer(self._settings, self._judge)
        self._run = judged_run(self._judge, self._settings)
        self._cohorts = Cohorts(
            self._run.wrap(scorer.score_group),
            size=config.actor_rollout_ref.rollout.n,
            preparing=scorer.preparing,
            quorum=self._settings.min_group,
            deadline=self._settings.wait,
            on_lost=self._run.lost_before_judging,
        )

    async def run_single(self, data: Any) -> dict[str, Any]:
        """Return the reward of a rollout's last sequence in verl, once its siblings have arrived.

        Raises CalipersError without a reward.
        """
        self._run.require_running()
        item = data[-1:][0]
        row = item.non_tensor_batch
        tokens = item.batch["responses"]
        count = int(item.batch["attention_mask"][-len(tokens) :].sum())
        text = str(self.tokenizer.decode(tokens[:count], skip_special_tokens=True))
        member = {"id": str(row["session_id"]), "messages": [assistant_message(text)]}
        group = common_group_fields(row, self._settings, rubric=self._judge.settings.standards)
        result = await self._cohorts.join(row["uid"], member, group=group)
        return {"reward_score": result.required(), "reward_extra_info": logged_extra_info(result, self._settings)}


def require_limits(config: Any, settings: VerlSettings) -> None:
    """Raise ConfigError if the rollouts of a prompt could not all wait in this one reward worker of verl."""
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
    if has_validation(config) and rollout.val_kwargs.n != rollout.n:
        raise ConfigError(
            f"actor_rollout_ref.rollout.val_kwargs.n={rollout.val_kwargs.n} and rollout.n={rollout.n}: verl does not "
            f"tell reward managers which of the two applies to a rollout; make them equal, {instead}"
        )
    at_once = config.data.train_batch_size * rollout.n
    if at_once > _MAX_CALLS:
        raise ConfigError(
            f"data.train_batch_size * rollout.n = {at_once}: a reward worker accepts {_MAX_CALLS} rollouts at a time, "
            f"and if so many wait, their siblings cannot enter; make it {_MAX_CALLS} or fewer, {instead}"
        )
