"""verl's V1 agent loop with a judge: all rollouts of a prompt are judged at once, in the process that rolled them out.

verl runs the rollouts of one ``uid`` as tasks of one process, its agent-loop worker. This worker collects and rewards
them before it passes them on. Needs verl and Ray; import it through ``calipers.trainers.verl``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final

from calipers.errors import CalipersError, ConfigError
from calipers.registry import import_library
from calipers.trainers.cohorts import Cohorts, MemberResult
from calipers.trainers.run import JudgedRun
from calipers.trainers.verl.judging import (
    VerlSettings,
    common_group_fields,
    group_scorer,
    make_judge,
    member_of_outputs,
    read_settings,
    step_of_row,
)

_log = logging.getLogger(__name__)
_NEEDED: Final = "calipers' agent loop needs verl's V1 trainer: pip install 'calipers[verl]', on Python 3.12 or older"
ray, omegaconf, v1 = (import_library(name, remedy=_NEEDED) for name in ("ray", "omegaconf", "verl.trainer.ppo.v1"))
try:
    _VerlManager: Any = v1.AgentLoopManagerTQ
    _VerlWorker: Any = v1.AgentLoopWorkerTQ.__ray_metadata__.modified_class
except AttributeError as missing:
    raise ConfigError(f"{_NEEDED} ({missing})") from missing
_METHODS: Final = ("_run_prompt", "_run_agent_loop", "_agent_loop_postprocess")


@dataclass(slots=True)
class _Group:
    """A prompt whose ``size`` rollouts run. ``common`` are the fields that all share; ``joined`` are already judged."""

    size: int
    validate: bool
    common: dict[str, Any] | None = None
    joined: set[Any] = field(default_factory=set)


class JudgingWorker(_VerlWorker):  # type: ignore[misc]  # verl has no types
    """verl's agent-loop worker, with rewards from a judge that compares the rollouts of a group.

    A rollout without a reward is omitted from its group, like a rollout for which an agent loop of verl returns
    nothing. If no rollout of the group gets a reward, every rollout raises, so that verl counts the group as failed. A
    rollout whose agent loop sets ``reward_score`` keeps that reward, and is not judged.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._settings = settings = settings_in_config(self.config)
        rollout = self.config.actor_rollout_ref.rollout
        self._judge = make_judge(settings, workers=rollout.agent.num_workers)
        scorer = group_scorer(settings, self._judge)
        self._run = JudgedRun(
            self._judge,
            patience=settings.patience,
            min_scored=settings.min_group,
            consequence="so it does not train",
        )
        self._cohorts = Cohorts(
            self._run.wrap(scorer.score_group),
            size=rollout.n,
            quorum=settings.min_group,
            deadline=None,
            on_lost=self._run.lost_before_judging,
        )
        self._groups: dict[Any, _Group] = {}

    async def generate_sequences(self, batch: Any) -> None:
        """Start the rollouts of verl's ``batch``.

        An error raised here ends verl's run, whereas an exception in a rollout only fails that rollout.
        """
        self._run.require_running()
        await super().generate_sequences(batch)

    async def _run_prompt(self, prompt: dict[str, Any], *args: Any, trajectory: dict[str, Any], **kwargs: Any) -> None:
        uid, validate = prompt["uid"], bool(trajectory["validate"])
        rollout = self.config.actor_rollout_ref.rollout
        usual = rollout.val_kwargs.n if validate else rollout.n
        self._groups[uid] = _Group(int(prompt.get("__rollout_n__", usual)), validate)
        try:
            await super()._run_prompt(prompt, *args, trajectory=trajectory, **kwargs)
        finally:
            del self._groups[uid]

    async def _run_agent_loop(self, *args: Any, **kwargs: Any) -> Any:
        uid, session = kwargs["uid"], kwargs["session_id"]
        try:
            return await super()._run_agent_loop(*args, **kwargs)
        finally:
            group = self._groups[uid]
            if session not in group.joined:  # the rollout was lost, and its siblings must not wait for it
                self._cohorts.report_lost(uid, size=group.size)

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:  # noqa: FBT001 - verl's
        outputs = output if isinstance(output, list) else [output]
        if outputs and outputs[-1].reward_score is None:
            start = time.perf_counter()
            result = await self._judged(outputs, kwargs)
            if result.reward is None:
                self._leave_out(result, kwargs)
                return
            outputs[-1].reward_score = result.reward
            outputs[-1].extra_fields["reward_extra_info"] = logged_extra_info(result, result.reward)
            outputs[-1].metrics.compute_score = time.perf_counter() - start
        await super()._agent_loop_postprocess(outputs, validate, **kwargs)

    async def _judged(self, outputs: Sequence[Any], row: Mapping[str, Any]) -> MemberResult:
        uid, session = row["uid"], row["session_id"]
        group, settings = self._groups[uid], self._settings
        if group.size < settings.min_group and not (group.validate or settings.absolute):
            # verl would use the reward of a single rollout as its advantage.
            return MemberResult(
                None, f"its prompt has {group.size} rollouts, fewer than +calipers.min_group={settings.min_group}"
            )
        member = member_of_outputs(outputs, session, self._decode, limit=self.rollout_config.response_length)
        if group.common is None:
            fields = common_group_fields(row, settings, rubric=self._judge.settings.standards)
            group.common = fields | step_of_row(row, validate=group.validate)
        group.joined.add(session)
        return await self._cohorts.join(uid, member, size=group.size, group=group.common)

    def _decode(self, tokens: list[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True))

    def _leave_out(self, result: MemberResult, row: Mapping[str, Any]) -> None:
        name = f"rollout {row['session_id']} of {row['uid']}"
        if result.rewarded == 0:
            raise CalipersError(f"{name} gets no reward: {result.reason}")
        if result.group is None:  # a judged group is logged already
            _log.warning("%s is left out of its group: %s", name, result.reason)


class AgentLoopManager(_VerlManager):  # type: ignore[misc]  # verl has no types
    """verl's agent-loop manager with JudgingWorkers, for ``actor_rollout_ref.rollout.agent.agent_loop_manager_class``.

    The judge's settings are the table ``calipers`` of verl's configuration. Raises ConfigError, before any rollout, for
    a judge that cannot be made or reached, and for a configuration of verl with which there is nothing to compare.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(JudgingWorker)
        self._calipers = settings_in_config(self.config)
        require_groups(self.config, self._calipers)

    async def _init_agent_loop_workers(self) -> None:
        judge = make_judge(self._calipers)
        try:
            for warning in await judge.check():
                _log.warning("the judge: %s", warning)
        finally:
            judge.close()
        await super()._init_agent_loop_workers()


def settings_in_config(config: Any) -> VerlSettings:
    """Return the settings in the ``calipers`` table of verl's configuration. Raises ConfigError if they are invalid."""
    conf = omegaconf.OmegaConf
    table = conf.select(config, "calipers")
    return read_settings(conf.to_container(table, resolve=True) if conf.is_config(table) else table)


def require_groups(config: Any, settings: VerlSettings) -> None:
    """Raise ConfigError for a version or configuration of verl in which no prompt has several rollouts to compare."""
    if missing := [name for name in _METHODS if not hasattr(_VerlWorker, name)]:
        raise ConfigError(f"verl {version('verl')} has no {', '.join(missing)}: pip install 'verl>=0.9,<0.10'")
    if not config.transfer_queue.enable:
        raise ConfigError("calipers' agent-loop manager is for verl's V1 trainer: set trainer.use_v1=true")
    rollout = config.actor_rollout_ref.rollout
    if rollout.n < settings.min_group and not settings.absolute:
        raise ConfigError(
            f"actor_rollout_ref.rollout.n={rollout.n}: rollouts are compared, so a prompt needs at least "
            f"{settings.min_group}; +calipers.absolute=true judges a single one"
        )
    validates = config.trainer.test_freq > 0 or config.trainer.val_before_train
    if validates and rollout.val_kwargs.n == 1 and not settings.absolute:
        _log.warning(
            "actor_rollout_ref.rollout.val_kwargs.n=1: there is nothing to compare a validation rollout with, so "
            "each gets the same reward and no judge is asked; set it to 2 or more, or +calipers.absolute=true"
        )


def logged_extra_info(result: MemberResult, reward: float) -> dict[str, float]:
    """Return what verl logs with a rollout's reward. Keys are the same for every rollout, and values are numbers."""
    score = result.member.score if result.member is not None else None
    count = len(result.group.trajectories) if result.group is not None else result.rewarded
    return {"calipers_score": reward if score is None else score, "calipers_rewarded": result.rewarded / count}
