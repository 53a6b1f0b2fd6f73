"""verl's V1 agent loop with a judge, watched: ``AgentLoopManager`` is the class for ``agent_loop_manager_class``.

Every worker measures the groups that it rolls out, after their rewards are on their way, and adds rows to a file of its
own. The manager reads them before each step, and ends the run by an error where a stop rule says so, as verl has no
other way. verl's validation prompts are the held-out prompts. Needs verl and Ray.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from omegaconf import OmegaConf
from verl.utils import tensordict_utils

from calipers.errors import CalipersError
from calipers.study.watching.files import WatchFolder
from calipers.study.watching.measuring import Measuring
from calipers.study.watching.rows import Split
from calipers.study.watching.rules import BrokenRule
from calipers.study.watching.verl_settings import WatchSettings, logged_by_verl, read_watch_settings
from calipers.study.watching.watch import Watch
from calipers.trainers.rollouts.steps import updates_before
from calipers.trainers.verl.agent_loop import AgentLoopManager as JudgingManager
from calipers.trainers.verl.agent_loop import JudgingWorker
from calipers.types import GroupResult, TrajectoryGroup

_log = logging.getLogger(__name__)


class StoppedRunError(CalipersError):
    """Raised when a stop rule of a watched run is broken, which ends verl's run."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    """What a worker knows of a prompt that it rolls out."""

    step: int
    split: Split
    due: bool
    audited: bool


class WatchingWorker(JudgingWorker):
    """verl's agent-loop worker with a judge, which also measures the groups for the watch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        settings = watch_in_config(self.config)
        self._folder = WatchFolder(Path(settings.folder))
        self._measuring = Measuring(settings.make_audit(), settings.find_truth())
        self._every = settings.every
        self._share = -(-settings.sample // self.config.actor_rollout_ref.rollout.agent.num_workers)
        self._prompts: dict[str, _Prompt] = {}
        self._begun: Counter[tuple[int, Split]] = Counter()
        self._measured: set[asyncio.Task[None]] = set()

    async def _run_prompt(self, prompt: dict[str, Any], *args: Any, trajectory: dict[str, Any], **kwargs: Any) -> None:
        name = str(prompt["uid"])
        self._prompts[name] = self._noted(int(trajectory["step"]), validate=bool(trajectory["validate"]))
        try:
            await super()._run_prompt(prompt, *args, trajectory=trajectory, **kwargs)
        finally:
            del self._prompts[name]

    def _noted(self, verl_step: int, *, validate: bool) -> _Prompt:
        split: Split = "held_out" if validate else "train"
        step = updates_before(verl_step, validate=validate)
        due = validate or step % self._every == 0
        self._begun[step, split] += 1
        return _Prompt(step, split, due, due and self._begun[step, split] <= self._share)

    async def _score_group(self, group: TrajectoryGroup) -> GroupResult:
        result = await super()._score_group(group)
        task = asyncio.create_task(self._measure(group, result, self._prompts[group.group_id]))
        self._measured.add(task)
        task.add_done_callback(self._measured.discard)
        return result

    async def _measure(self, group: TrajectoryGroup, result: GroupResult, prompt: _Prompt) -> None:
        row = await self._measuring.measure(
            group, result, step=prompt.step, split=prompt.split, due=prompt.due, audited=prompt.audited
        )
        try:
            self._folder.add_groups([row], of_process=True)
        except OSError as error:
            _log.warning("the watch cannot write to %s: %s", self._folder.path, error)


class AgentLoopManager(JudgingManager):
    """verl's agent-loop manager with a judge, which is watched.

    The settings of the watch are the table ``watch`` of verl's configuration. Raises ConfigError, before any rollout,
    for settings that cannot work, and StoppedRunError, before the next step, where a stop rule says so.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(WatchingWorker)
        self._watching = watch_in_config(self.config)
        self._watching.find_truth()
        title = str(OmegaConf.select(self.config, "trainer.experiment_name") or "")
        rules, stop = self._watching.stop_rules, self._watching.stop
        self._watch = Watch(self._watching.folder, rules=rules, stop=stop, title=title, on_broken=_report)
        self._is_begun = False
        self._told: set[str] = set()

    async def _init_agent_loop_workers(self) -> None:
        audit = self._watching.make_audit()
        if audit is not None:
            try:
                for warning in await audit.check():
                    _log.warning("the audit judge: %s", warning)
            finally:
                audit.close()
        await super()._init_agent_loop_workers()

    def generate_sequences(self, prompts: Any) -> None:
        """Start the rollouts of verl's batch. Raises StoppedRunError if a stop rule ends the run."""
        validate = bool(tensordict_utils.get(prompts, "validate", False))
        step = int(tensordict_utils.get(prompts, "global_steps")) - (not validate)
        if self._is_begun:
            self._look()
        else:
            self._watch.begin(step)
            self._is_begun = True
        super().generate_sequences(prompts)

    def _tell_once(self, problem: str) -> None:
        if problem not in self._told:
            self._told.add(problem)
            _log.warning("%s", problem)

    def _look(self) -> None:
        """Read what the workers have measured, and end the run if a stop rule says so."""
        watch = self._watch
        watch.restore()
        if self._watching.log is not None:
            last = max((int(row["step"]) for row in watch.log), default=-1)
            for row in logged_by_verl(self._watching.log, after=last, on_problem=self._tell_once):
                figures = {name: value for name, value in row.items() if name != "step"}
                watch.add_log(int(row["step"]), figures)
        watch.check()
        if watch.stopped is not None:
            broken = watch.stopped
            raise StoppedRunError(f"stop rule {broken.rule} is broken at step {broken.step}: {broken.found}")


def watch_in_config(config: Any) -> WatchSettings:
    """Return the settings in the ``watch`` table of verl's configuration. Raises ConfigError if they are invalid."""
    table = OmegaConf.select(config, "watch")
    return read_watch_settings(OmegaConf.to_container(table, resolve=True) if OmegaConf.is_config(table) else {})


def _report(broken: BrokenRule) -> None:
    _log.warning("stop rule %s is broken at step %s: %s", broken.rule, broken.step, broken.found)
