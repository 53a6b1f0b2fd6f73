"""The settings of one run: verl's own, and the table ``calipers`` with which its rewards are configured.

Pure. Not responsible for how they are written (``overrides``) or checked (``problems``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from calipers.study.export.arms import ClusterArm
from calipers.study.export.data_sets.preparation import prepared_path
from calipers.study.export.layout import Server, Slot
from calipers.study.export.overrides import InStudy
from calipers.study.export.recipes import Recipe, Variant, family_of, flat
from calipers.study.export.settings import ClusterSettings

_ACTOR: Final = "actor_rollout_ref.actor"
_ROLLOUT: Final = "actor_rollout_ref.rollout"
_MODEL: Final = "actor_rollout_ref.model"
GROUP_SIZE: Final = f"{_ROLLOUT}.n"
BATCH: Final = "data.train_batch_size"
MINI_BATCH: Final = f"{_ACTOR}.ppo_mini_batch_size"
LONGEST_RESPONSE: Final = "data.max_response_length"
TENSOR_PARALLEL: Final = f"{_ROLLOUT}.tensor_model_parallel_size"
_DATA: Final = Path("data")
_MANY: Final = 4
"""With so many GPUs, the states of a 7B policy and its optimizer fit beside the rollout engine."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the study on the cluster: an arm with a recipe and a seed, in a slot; ``server`` is its judge's.

    ``watch`` are verl's settings for the watch of the run, by dotted names.
    """

    name: str
    arm: ClusterArm
    recipe: Recipe
    seed: int
    slot: Slot
    server: Server | None = None
    watch: Mapping[str, Any] = field(default_factory=dict)


def verl_settings(run: Run, settings: ClusterSettings, variants: Mapping[str, Variant]) -> dict[str, Any]:
    """Return a run's settings of verl by dotted names, without the table ``calipers``.

    Later ones win: the recipe's, the variants', what follows from the study, the arm's, those under [cluster.verl].
    """
    found = dict(run.recipe.verl)
    for variant in variants.values():
        found |= variant.verl
    found |= {**_from_study(run, settings), **run.arm.verl}
    if run.arm.updates is not None or BATCH in run.arm.verl:
        updates = run.arm.updates or max(1, run.recipe.verl[BATCH] // run.recipe.verl[MINI_BATCH])
        found[MINI_BATCH] = max(1, found[BATCH] // updates)
    return found | flat(settings.verl or {})


def _from_study(run: Run, settings: ClusterSettings) -> dict[str, Any]:
    gpus, files = len(run.slot.gpus), {}
    for split in ("train", "val"):
        path = prepared_path(_DATA, settings.data, split, run.recipe.form)
        files[f"data.{split}_files"] = InStudy(path.as_posix())
    offload = gpus < _MANY if settings.offload is None else settings.offload
    family = family_of(settings.model)
    return {
        **files,
        **{
            f"+data.apply_chat_template_kwargs.{name}": value
            for name, value in (family.chat_template_arguments if family else {}).items()
        },
        "data.seed": run.seed,
        f"{_MODEL}.path": settings.model,
        f"{_ACTOR}.fsdp_config.seed": run.seed,
        f"{_ACTOR}.fsdp_config.param_offload": offload,
        f"{_ACTOR}.fsdp_config.optimizer_offload": offload,
        f"{_ROLLOUT}.seed": run.seed,
        TENSOR_PARALLEL: settings.tensor_parallel or max(1, gpus // 2),
        "trainer.n_gpus_per_node": gpus,
        "trainer.total_training_steps": settings.steps,
        "trainer.project_name": "calipers-study",
        "trainer.experiment_name": run.name,
        "trainer.default_local_dir": InStudy(f"checkpoints/{run.name}"),
        "trainer.rollout_data_dir": InStudy(f"rollouts/{run.name}"),
    }


def calipers_settings(run: Run, settings: ClusterSettings, *, group_size: int) -> dict[str, Any]:
    """Return the table ``calipers`` of a run: the judge, its options, and how verl's groups are rewarded.

    ``group_size`` is the number of responses to a prompt.
    """
    table: dict[str, Any] = {"judge": run.arm.model, "seed": run.seed, **run.recipe.calipers, **run.arm.options}
    if run.server is not None:
        table["base_url"] = run.server.urls
    if run.arm.whole_groups:
        table["min_group"] = group_size
    if "scaffold" in table:
        table["scaffold"] = {"total_steps": settings.steps, "run": run.name, **table["scaffold"]}
    return {**table, "ledger": InStudy(f"ledgers/{run.name}.db"), **(settings.calipers or {})}


def all_settings(run: Run, settings: ClusterSettings, variants: Mapping[str, Variant]) -> dict[str, Any]:
    """Return all settings of a run by dotted names, as verl's command line takes them."""
    found = verl_settings(run, settings, variants)
    own = calipers_settings(run, settings, group_size=found[GROUP_SIZE])
    return found | {f"+calipers.{key}": value for key, value in flat(own).items()} | flat(run.watch)
