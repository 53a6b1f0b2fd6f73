"""RuscaRL's scaffold in verl's agent loops: sample with part of the rubric in the prompt, train on the prompt alone.

An agent loop that builds its prompt with verl's own method samples from the scaffolded prompt and returns the tokens of
the data set's prompt. Needs verl and Ray.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final

from hydra.utils import get_class
from omegaconf import OmegaConf
from verl.experimental.agent_loop import agent_loop as loops
from verl.trainer.ppo.v1 import AgentLoopWorkerTQ

from calipers.errors import CalipersError, ConfigError
from calipers.rubric.scaffold import scaffolded, texts_and_points
from calipers.trainers.process import warn_untested
from calipers.trainers.rows import standards_of_row
from calipers.trainers.verl.settings import Scaffold, read_scaffold
from calipers.types import Message, Rubric

_log = logging.getLogger(__name__)

SHOWN: Final = "scaffold_shown"
"""The key of an agent loop's ``extra_fields`` with the number of criteria in its rollout's prompt."""

_METHODS: Final = ("_run_prompt", "_run_agent_loop", "_agent_loop_postprocess")
_REGISTRY: Final = "_agent_loop_registry"
_VerlWorker: Any = AgentLoopWorkerTQ.__ray_metadata__.modified_class


class ScaffoldingWorker(_VerlWorker):  # type: ignore[misc]  # verl has no types
    """verl's agent-loop worker, whose training rollouts are sampled with part of the rubric in the prompt.

    Validation, greedy rollouts and groups of one have no scaffold. Without ``+calipers.scaffold`` no rollout has one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._scaffold = scaffold_in_config(self.config)
        self._sizes: dict[Any, int] = {}

    async def _run_prompt(self, prompt: dict[str, Any], *args: Any, trajectory: dict[str, Any], **kwargs: Any) -> None:
        if self._scaffold is None or trajectory["validate"] or not prompt.get("__do_sample__", True):
            await super()._run_prompt(prompt, *args, trajectory=trajectory, **kwargs)
            return
        uid = prompt["uid"]
        self._sizes[uid] = int(prompt.get("__rollout_n__", self.config.actor_rollout_ref.rollout.n))
        try:
            await super()._run_prompt(prompt, *args, trajectory=trajectory, **kwargs)
        finally:
            del self._sizes[uid]

    async def _run_agent_loop(self, *args: Any, agent_name: str, **kwargs: Any) -> Any:
        size = self._sizes.get(kwargs["uid"], 1)
        name = _scaffolded_name(agent_name, size) if size > 1 else agent_name
        return await super()._run_agent_loop(*args, agent_name=name, **kwargs)


def scaffold_in_config(config: Any) -> Scaffold | None:
    """Return the scaffold in the table ``calipers.scaffold`` of verl's configuration, or None. Raises ConfigError."""
    table = OmegaConf.select(config, "calipers.scaffold")
    if table is None:
        return None
    plain = OmegaConf.to_container(table, resolve=True) if OmegaConf.is_config(table) else table
    return read_scaffold(plain, total_steps=config.trainer.total_training_steps)


def require_v1(config: Any) -> None:
    """Raise ConfigError for a version or trainer of verl in which these agent loops cannot work."""
    warn_untested("verl")
    if missing := [name for name in _METHODS if not hasattr(_VerlWorker, name)]:
        raise ConfigError(f"verl {version('verl')} has no {', '.join(missing)}: pip install 'verl>=0.9,<0.10'")
    if not config.transfer_queue.enable:
        raise ConfigError("calipers' agent-loop manager is for verl's V1 trainer: set trainer.use_v1=true")


def require_scaffold_outside_training(config: Any) -> None:
    """Raise ConfigError for settings of verl with which the scaffolded prompt would influence training."""
    if not hasattr(loops, _REGISTRY):
        raise ConfigError(f"verl {version('verl')} has no {_REGISTRY}, which scaffolds need: pip install 'verl==0.9.1'")
    rollout, table = config.actor_rollout_ref.rollout, OmegaConf.select(config, "algorithm.rollout_correction")
    if rollout.n < 2:
        raise ConfigError(
            f"actor_rollout_ref.rollout.n={rollout.n}: scaffolds differ within a group, so it must be 2 or more"
        )
    wrong = {
        "actor_rollout_ref.rollout.calculate_log_probs": rollout.calculate_log_probs,
        "algorithm.rollout_correction.bypass_mode": table is not None and table.get("bypass_mode", False),
        "actor_rollout_ref.rollout.enable_rollout_routing_replay": rollout.get("enable_rollout_routing_replay", False),
    }
    if on := [name for name, value in wrong.items() if value]:
        raise ConfigError(
            "with +calipers.scaffold, values recorded by the rollout engine belong to the scaffolded prompt, on "
            f"which verl does not train: set {' and '.join(f'{name}=false' for name in on)}"
        )


def scaffolded_agent(*, agent: Mapping[str, Any], size: int, **given: Any) -> Any:
    """Return a registered agent loop of verl with the scaffold for a group of ``size`` in its prompt. hydra calls
    this.
    """
    own = {key: value for key, value in agent.items() if key != "_target_"}
    made = _scaffolded_class(agent["_target_"])(**own, **given)
    made.calipers_size = size
    return made


@lru_cache(maxsize=32)
def _scaffolded_class(target: str) -> type[Any]:
    kind = get_class(target)
    return type(f"Scaffolded{kind.__name__}", (Scaffolded, kind), {})


def _scaffolded_name(agent_name: str, size: int) -> str:
    """Return the name under which verl finds the scaffolded agent loop; verl reports an unknown name itself."""
    known = getattr(loops, _REGISTRY)
    if agent_name not in known:
        return agent_name
    name = f"calipers/{agent_name}/{size}"
    known[name] = {
        "_target_": f"{__name__}.{scaffolded_agent.__name__}",
        "_recursive_": False,
        "agent": known[agent_name],
        "size": size,
    }
    return name


class Scaffolded:
    """A mixin for verl's agent loops: a rollout is sampled with the scaffold and returned without it."""

    config: Any
    rollout_config: Any
    calipers_size: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._replaced: tuple[Message, list[Message]] | None = None
        self._ids: tuple[list[int], list[int]] | None = None

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> Any:
        """Return the outputs of verl's agent loop, with the tokens of the row's own prompt and not the scaffolded one.

        Log-probabilities are removed, because they belong to the scaffolded prompt. Raises CalipersError for a prompt
        that is not text, and for an agent loop that does not build its prompt with verl's method.
        """
        prompt, count = self._scaffolded(row)
        output = await super().run(sampling_params, **{**row, "raw_prompt": prompt})  # type: ignore[misc]
        if count and self._ids is None:
            raise CalipersError(
                f"{type(self).__name__} does not use verl's method to build its prompt, so it cannot be scaffolded"
            )
        for one in output if isinstance(output, list) else [output]:
            if count:
                one.prompt_ids = self._without(one.prompt_ids)
                one.response_logprobs = None
            one.extra_fields[SHOWN] = count if self._ids is not None and self._ids[0] != self._ids[1] else 0
        return output

    async def ct_build_initial_tokens(self, messages: list[dict[str, Any]], *args: Any, **options: Any) -> list[int]:
        """Return the tokens of the scaffolded prompt for verl.

        If it is too long, they are those of the prompt without its scaffold.
        """
        build = super().ct_build_initial_tokens  # type: ignore[misc]
        ids: list[int] = await build(messages, *args, **options)
        if self._replaced is None:
            return ids
        first, instead = self._replaced
        if messages[0] != first:
            raise CalipersError(
                f"{type(self).__name__} changes the first message of its prompt, so it cannot be scaffolded"
            )
        plain: list[int] = await build([*map(dict, instead), *messages[1:]], *args, **options)
        if len(ids) >= self.rollout_config.prompt_length:
            _log.warning("a prompt with its scaffold is longer than rollout.prompt_length, so it is used without")
            ids = plain
        self._ids = (ids, plain)
        return ids

    def _scaffolded(self, row: Mapping[str, Any]) -> tuple[list[dict[str, Any]], int]:
        """Return the prompt of a rollout, and the number of criteria in it."""
        plain, scaffold, rubric = list(row["raw_prompt"]), scaffold_in_config(self.config), standards_of_row(row).rubric
        if scaffold is None or not isinstance(rubric, Rubric):
            return plain, 0
        criteria = texts_and_points(rubric)
        step, place, size = int(row["global_steps"]), int(row["session_id"]) + 1, self.calipers_size
        count = scaffold.schedule.count(step, place, size, len(criteria))
        if count == 0:
            return plain, 0
        if not all(isinstance(message.get("content"), str) for message in plain):
            raise CalipersError("a scaffold needs a prompt of text, but this one has images or other parts")
        prompt = scaffolded(
            plain,
            criteria,
            schedule=scaffold.schedule,
            step=step,
            place=place,
            size=size,
            run=scaffold.run,
            discreet=scaffold.discreet,
        )
        self._replaced = (prompt[0], plain[: len(plain) + 1 - len(prompt)])
        return [dict(message) for message in prompt], count

    def _without(self, tokens: list[int]) -> list[int]:
        """Return the tokens of an output's prompt, which may hold earlier turns, without the scaffold."""
        assert self._ids is not None  # noqa: S101 - run has checked it
        with_scaffold, plain = self._ids
        if tokens[: len(with_scaffold)] != with_scaffold:
            raise CalipersError(
                f"{type(self).__name__} returns another prompt than it built, so it cannot be scaffolded"
            )
        return plain + tokens[len(with_scaffold) :]
