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
from calipers.trainers.no_signal.float_rewards import float_reward, run_for_floats
from calipers.trainers.process import blocking
from calipers.trainers.rollouts.messages import assistant_message
from calipers.trainers.verl.agent_loop import (
    has_validation,
    judged_run,
    logged_extra_info,
    resamples,
    settings_in_config,
)
from calipers.trainers.verl.recipes import common_group_fields, group_scorer
from calipers.trainers.verl.reward_model import is_colocated, key_of_prompt
from calipers.trainers.verl.settings import VerlSettings, make_judge

_log = logging.getLogger(__name__)

_MAX_CALLS: Final = 1000
"""The most concurrent calls of an asynchronous Ray actor. If that many rollouts wait, their siblings cannot enter."""


class RewardManager(RewardManagerBase):  # type: ignore[misc]  # verl has no types
    """verl's reward manager with rewards from a judge of whole groups, for ``reward.reward_manager.source=importlib``.

    A rollout that gets no reward raises, and fails. verl does not report lost siblings, so a group is judged without
    them after ``+calipers.wait`` seconds. A judge colocated with the policy is asked after the rollouts; an exception
    would end the run there, so a group that is not scored whole gets one constant. Raises ConfigError for a
    configuration that exceeds this manager's limits, and for a judge that cannot be reached.
    """

    def __init__(
        self,
        config: Any,
        tokenizer: Any,
        compute_score: Any = None,
        reward_router_address: str | None = None,
        **_: Any,
    ) -> None:
        super().__init__(config, tokenizer, compute_score)
        self._settings = settings_in_config(config)
        self._colocated = is_colocated(config)
        require_limits(config, self._settings)
        self._judge = make_judge(self._settings, router=reward_router_address)
        for warning in blocking.run_coroutine(self._judge.check()):
            _log.warning("the judge: %s", warning)
        scorer = group_scorer(self._settings, self._judge)
        self._rollouts = 0
        self._run = (
            run_for_floats(self._judge, patience=self._settings.patience)
            if self._colocated
            else judged_run(self._judge, self._settings)
        )
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
        if self._colocated:
            # verl passes the prompt and the tokens only: no name of the group or of the rollout.
            self._rollouts += 1
            prompt = row["raw_prompt"]
            row = {"raw_prompt": prompt, "uid": key_of_prompt(prompt), "session_id": self._rollouts}
        tokens = item.batch["responses"]
        count = int(item.batch["attention_mask"][-len(tokens) :].sum())
        text = str(self.tokenizer.decode(tokens[:count], skip_special_tokens=True))
        member = {"id": str(row["session_id"]), "messages": [assistant_message(text)]}
        group = common_group_fields(row, self._settings, rubric=self._judge.settings.standards)
        result = await self._cohorts.join(row["uid"], member, group=group)
        if self._colocated:
            return {"reward_score": float_reward(result), "reward_extra_info": {}}
        info = logged_extra_info(result, self._settings, resamples=resamples(self.config))
        return {"reward_score": result.required(), "reward_extra_info": info}


def require_limits(config: Any, settings: VerlSettings) -> None:
    """Raise ConfigError if the rollouts of a prompt could not all wait in this one reward worker of verl."""
    if is_colocated(config):
        require_colocated(config, settings)
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
    if is_colocated(config):  # it gets all rollouts in one call, which no bound on calls applies to
        return
    at_once = config.data.train_batch_size * rollout.n
    if at_once > _MAX_CALLS:
        raise ConfigError(
            f"data.train_batch_size * rollout.n = {at_once}: a reward worker accepts {_MAX_CALLS} rollouts at a time, "
            f"and if so many wait, their siblings cannot enter; make it {_MAX_CALLS} or fewer, {instead}"
        )


def require_colocated(config: Any, settings: VerlSettings) -> None:
    """Raise ConfigError for settings of verl that need more of a row than a colocated judge is given: its prompt."""
    if config.reward.custom_reward_function.path is None:
        raise ConfigError(
            "reward.reward_model.enable=true: without a reward function of its own, verl asks the reward model for a "
            "number and not this manager. Set reward.custom_reward_function.path=pkg://calipers.trainers.verl"
        )
    needs = [name for name in ("reference", "recipe", "scaffold", "weigh") if getattr(settings, name)]
    needs += ["algorithm.filter_groups.metric"] if resamples(config) else []
    if needs:
        raise ConfigError(
            f"{', '.join(needs)}: verl gives a colocated judge a row's prompt and response only. Set "
            "reward.reward_model.enable_resource_pool=true and use calipers.trainers.verl.AgentLoopManager"
        )
