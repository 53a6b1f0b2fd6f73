"""Shadow mode in verl: rewards are verl's own, and a judge also sees the rollouts of each prompt.

Needs verl and Ray; import ``ShadowManager`` from ``calipers.trainers.verl``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ray
from verl.trainer.ppo.v1 import AgentLoopManagerTQ

from calipers.errors import ConfigError
from calipers.inputs import as_group
from calipers.trainers.shadow.recording import Shadow
from calipers.trainers.verl.agent_loop import settings_in_config
from calipers.trainers.verl.recipes import common_group_fields
from calipers.trainers.verl.reward_model import router_of_workers
from calipers.trainers.verl.rows import member_of_outputs, step_of_row
from calipers.trainers.verl.scaffold import ScaffoldingWorker, require_v1
from calipers.trainers.verl.settings import make_judge
from calipers.types import TrajectoryGroup


class ShadowingWorker(ScaffoldingWorker):
    """verl's agent-loop worker, which hands each finished group and verl's own rewards to a ``Shadow``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._settings = settings_in_config(self.config)
        router = router_of_workers(self.reward_loop_worker_handles)
        workers = self.config.actor_rollout_ref.rollout.agent.num_workers
        self._shadow = Shadow(make_judge(self._settings, workers=workers, router=router), str(self._settings.shadow))
        self._seen: dict[Any, list[tuple[Any, Any, Any]]] = {}

    async def _run_prompt(self, prompt: dict[str, Any], *args: Any, trajectory: dict[str, Any], **kwargs: Any) -> None:
        uid, validate = prompt["uid"], bool(trajectory["validate"])
        self._seen[uid] = []
        try:
            await super()._run_prompt(prompt, *args, trajectory=trajectory, **kwargs)
        finally:
            seen = self._seen.pop(uid)
            self._shadow.submit(lambda: self._groups(seen, validate=validate))

    async def _compute_score(self, outputs: list[Any], kwargs: dict[str, Any]) -> None:
        await super()._compute_score(outputs, kwargs=kwargs)
        self._seen.setdefault(kwargs["uid"], []).append((outputs, kwargs, outputs[-1].reward_score))

    def _groups(
        self, seen: list[tuple[Any, Any, Any]], *, validate: bool
    ) -> Sequence[tuple[TrajectoryGroup, Sequence[Any]]]:
        if len(seen) < 2:
            return []
        row = seen[0][1]
        common = common_group_fields(row, self._settings, rubric="") | step_of_row(row, validate=validate)
        limit = self.rollout_config.response_length
        members = [
            member_of_outputs(outputs, given["session_id"], self._decode, limit=limit) for outputs, given, _ in seen
        ]
        return [(as_group({**common, "trajectories": members}), [reward for _, _, reward in seen])]

    def _decode(self, tokens: list[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True))


class ShadowManager(AgentLoopManagerTQ):  # type: ignore[misc]  # verl has no types
    """verl's agent-loop manager with ShadowingWorkers, for ``agent_loop_manager_class`` of verl's rollout settings.

    The judge's settings are the table ``calipers`` of verl's configuration, and ``+calipers.shadow`` is the folder of
    its records. Raises ConfigError, before any rollout, for settings that cannot work, and where verl computes rewards
    only after the rollouts.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(ShadowingWorker)
        settings = settings_in_config(self.config)
        require_v1(self.config)
        if settings.shadow is None:
            raise ConfigError("ShadowManager needs a folder for its records: +calipers.shadow=/data/run-1/shadow")
        if self.reward_loop_worker_handles is None:
            raise ConfigError("a colocated reward model computes rewards after the rollouts, which shadows do not see")
