"""verl's V1 agent loop with a judge in it: all rollouts of a prompt are judged at once, where they were rolled out.

verl runs the rollouts of one ``uid`` as tasks of one process, its agent-loop worker. Here they meet before they are
handed on, each with its reward. Needs verl and Ray; reached through ``calipers.trainers.verl``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from omegaconf import OmegaConf
from verl.trainer.ppo.v1 import AgentLoopManagerTQ

from calipers.errors import CalipersError, ConfigError
from calipers.judging.judge import Judge
from calipers.trainers.cohorts.cohort import Cohorts, MemberResult
from calipers.trainers.no_signal.run import JudgedRun
from calipers.trainers.verl.recipes import acc_of, head_of, scorer_of
from calipers.trainers.verl.rows import member_of
from calipers.trainers.verl.scaffold import ScaffoldingWorker, require_v1, require_without, scaffold_of
from calipers.trainers.verl.settings import VerlSettings, make_judge, read_settings

_log = logging.getLogger(__name__)
_VERLS_LOG = AgentLoopManagerTQ.__module__


@dataclass(slots=True)
class _Group:
    """The rollouts of one prompt, while they run: how many there are, what they have in common, and who has met the others."""

    size: int
    validate: bool
    head: dict[str, Any] | None = None
    met: set[Any] = field(default_factory=set)


class JudgingWorker(ScaffoldingWorker):
    """verl's agent-loop worker, whose rollouts get their reward from a judge of their group.

    A rollout without a reward of its own is left out of its group, as one that verl's agent loops return nothing for. Where
    none of the group gets one, each raises, which is how verl comes to know that the group failed. A rollout whose agent
    loop sets ``reward_score`` keeps it, and is not judged.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._settings = settings_of(self.config)
        rollout = self.config.actor_rollout_ref.rollout
        self._judge = make_judge(self._settings, workers=rollout.agent.num_workers)
        scorer = scorer_of(self._settings, self._judge)
        self._run = run_in_verl(self._judge, self._settings)
        self._cohorts = Cohorts(
            self._run.around(scorer.score_group),
            size=rollout.n,
            preparing=scorer.preparing,
            quorum=self._settings.min_group,
            deadline=None,
            lost=self._run.lost_before_judging,
        )
        without_tracebacks(self._run)
        self._groups: dict[Any, _Group] = {}

    async def generate_sequences(self, batch: Any) -> None:
        """Begin the rollouts of ``batch``. verl takes what a rollout raises for that rollout's failure and goes on; what is
        raised here ends its run: ConfigError for a judge that refuses every question, CalipersError once patience is out.
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
            if session not in group.met:  # it was lost on the way: its siblings need not wait
                self._cohorts.lose(uid, size=group.size)

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:  # noqa: FBT001 - verl's
        outputs = output if isinstance(output, list) else [output]
        if outputs and outputs[-1].reward_score is None:
            begun = time.perf_counter()
            share = await self._share(outputs, kwargs)
            if share.reward is None:
                self._leave_out(share, kwargs)
                return
            outputs[-1].reward_score = share.reward
            outputs[-1].extra_fields["reward_extra_info"] = extra_info(share, self._settings)
            outputs[-1].metrics.compute_score = time.perf_counter() - begun
        await super()._agent_loop_postprocess(outputs, validate, **kwargs)

    async def _share(self, outputs: Sequence[Any], row: Mapping[str, Any]) -> MemberResult:
        uid, session = row["uid"], row["session_id"]
        group, settings = self._groups[uid], self._settings
        if group.size < settings.min_group and not (group.validate or settings.absolute):
            # Verl would take its raw reward for an advantage.
            return MemberResult(
                None, f"its prompt has {group.size} rollouts, fewer than +calipers.min_group={settings.min_group}"
            )
        member = member_of(outputs, session, self._decode, limit=self.rollout_config.response_length)
        if group.head is None:
            group.head = head_of(row, settings, rubric=self._judge.settings.standards)
        group.met.add(session)
        return await self._cohorts.join(uid, member, size=group.size, group=group.head)

    def _decode(self, tokens: list[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True))

    def _leave_out(self, share: MemberResult, row: Mapping[str, Any]) -> None:
        what = f"rollout {row['session_id']} of {row['uid']}"
        if share.rewarded == 0:
            raise LostGroupError(f"{what} gets no reward: {share.reason}")
        if share.group is None:  # what its judge said of the group is told already
            _log.warning("%s is left out of its group: %s", what, share.reason)


class AgentLoopManager(AgentLoopManagerTQ):  # type: ignore[misc]  # verl has no types
    """verl's agent-loop manager with JudgingWorkers, for ``actor_rollout_ref.rollout.agent.agent_loop_manager_class``.

    The judge is read from the table ``calipers`` of verl's configuration. Raises ConfigError, before any rollout, for a
    judge that cannot be set up or reached, and for a configuration of verl's with which nothing can be compared.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(JudgingWorker)
        self._calipers = settings_of(self.config)
        require_groups(self.config, self._calipers)
        if scaffold_of(self.config) is not None:
            require_without(self.config)

    async def _init_agent_loop_workers(self) -> None:
        judge = make_judge(self._calipers)
        try:
            for warning in await judge.check():
                _log.warning("the judge: %s", warning)
        finally:
            judge.close()
        await super()._init_agent_loop_workers()


class LostGroupError(CalipersError):
    """A rollout whose group got no reward: raised because that is how verl comes to know it, and told already."""


def run_in_verl(judge: Judge, settings: VerlSettings) -> JudgedRun:
    """The judge at work in one of verl's workers."""
    return JudgedRun(judge, patience=settings.patience, needed=settings.min_group, then="so it does not train")


def without_tracebacks(run: JudgedRun) -> None:
    """Keep the tracebacks of lost groups out of this worker's log, one a rollout: each group has its line there already."""

    def is_news(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        return not isinstance(error, LostGroupError) and (run.ended is None or str(error) != run.ended)

    logging.getLogger(_VERLS_LOG).addFilter(is_news)


def settings_of(config: Any) -> VerlSettings:
    """The ``calipers`` table of verl's configuration. Raises ConfigError for one that cannot work."""
    table = OmegaConf.select(config, "calipers")
    return read_settings(OmegaConf.to_container(table, resolve=True) if OmegaConf.is_config(table) else table)


def require_groups(config: Any, settings: VerlSettings) -> None:
    """Raise ConfigError for a verl, or settings of its, in which no prompt has rollouts to compare with one another."""
    require_v1(config)
    rollout = config.actor_rollout_ref.rollout
    if rollout.n < settings.min_group and not settings.absolute:
        raise ConfigError(
            f"actor_rollout_ref.rollout.n={rollout.n}: rollouts are judged against one another, so a prompt needs at "
            f"least {settings.min_group}; +calipers.absolute=true judges a lone one"
        )
    if validates(config) and rollout.val_kwargs.n == 1 and not settings.absolute:
        _log.warning(
            "actor_rollout_ref.rollout.val_kwargs.n=1: with nothing to compare it with, each validation rollout gets the "
            "same reward and no judge is asked; set it to 2 or more, or +calipers.absolute=true"
        )


def validates(config: Any) -> bool:
    """Whether verl will roll out validation prompts at all."""
    return bool(config.trainer.test_freq > 0 or config.trainer.val_before_train)


def extra_info(share: MemberResult, settings: VerlSettings) -> dict[str, float]:
    """What is logged beside a reward: the same keys, and numbers, for every rollout."""
    score = share.member.score if share.member is not None else None
    count = len(share.group.trajectories) if share.group is not None else share.rewarded
    reward = share.required()
    told = {"calipers_score": float(reward if score is None else score), "calipers_rewarded": share.rewarded / count}
    return told if settings.recipe is None else told | {"acc": acc_of(reward, settings.recipe)}
