"""Which arms of a training study go to the cluster, and what each of them sets there.

An arm names a judge, how it is asked, and what differs in training. Where that means something only for the tiny
policy of ``calipers study train``, the arm stays behind, with the reason. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from calipers.study.training.settings import Arm

_LOSSES: Final = MappingProxyType({
    "dapo": "token-mean", "grpo": "seq-mean-token-mean", "dr_grpo": "seq-mean-token-sum-norm"
})  # fmt: skip
"""verl's names for TRL's ways of averaging tokens."""

NO_CLUSTER_JUDGE: Final = re.compile(r"(scripted|replay|profile|local):")
"""Names of judges that a cluster cannot ask."""


@dataclass(frozen=True, slots=True)
class ClusterArm:
    """An arm of the study on the cluster: its judge by name and model, the judge's options, and settings of verl's.

    With ``whole_groups``, a group trains only if all of its rollouts have rewards. ``updates`` are those with each
    batch, or None where the recipe decides. ``against`` is the arm that its runs are paired with.
    """

    name: str
    judge: str
    model: str
    options: Mapping[str, Any] = field(default_factory=dict)
    verl: Mapping[str, Any] = field(default_factory=dict)
    whole_groups: bool = False
    updates: int | None = None
    against: str = ""


@dataclass(frozen=True, slots=True)
class ClusterArms:
    """The arms of a study that go to the cluster, and the others' names with the reason."""

    arms: tuple[ClusterArm, ...]
    left_out: Mapping[str, str]


def arms_for_cluster(arms: Iterable[Arm]) -> ClusterArms:
    """Return a training study's arms, sorted into those that mean something on a cluster and the others."""
    kept: list[ClusterArm] = []
    left_out: dict[str, str] = {}
    for arm in arms:
        why = next(_reasons_to_stay(arm), None)
        if why is None:
            kept.append(_cluster_arm(arm))
        else:
            left_out[arm.name] = why
    return ClusterArms(tuple(kept), left_out)


def _reasons_to_stay(arm: Arm) -> Iterator[str]:
    table, judge = arm.table, arm.judge
    if judge.model is None:
        yield "its judge is simulated, and knows the truth of the study's own task only"
    elif NO_CLUSTER_JUDGE.match(judge.model):
        yield f"its judge {judge.model} is not one that a cluster can ask"
    if table.control is not None:
        yield "it is a control, which needs the truth of the study's own task"
    if table.order != "content":
        yield "its judge is shown candidates as they arrive, which calipers does in the study only"
    if table.missing == "zero":
        yield "it counts a failure as 0, which calipers does in the study only"
    if table.learn:
        yield "it learns about its judge before the run; set ledger under [cluster.calipers] instead"
    own = table.training or {}
    if "learning_rate" in own:
        yield "its learning rate is for the tiny policy; write actor_rollout_ref.actor.optim.lr under [cluster.verl]"
    if own.get("scale") == "batch":
        yield "verl does not divide by the batch's standard deviation"


def _cluster_arm(arm: Arm) -> ClusterArm:
    return ClusterArm(
        arm.name,
        arm.table.judge,
        str(arm.judge.model),
        arm.options,
        dict(_verl_settings(arm.table.training or {})),
        whole_groups=arm.table.missing == "group",
        updates=(arm.table.training or {}).get("updates"),
        against=arm.against,
    )


def _verl_settings(own: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield verl's settings for what an arm changes in training; the study's [training] is for the tiny policy."""
    actor = "actor_rollout_ref.actor"
    for key, value in own.items():
        match key:
            case "prompts":
                yield "data.train_batch_size", value
            case "group_size":
                yield "actor_rollout_ref.rollout.n", value
            case "scale":
                yield "algorithm.norm_adv_by_std_in_grpo", value == "group"
            case "loss":
                yield f"{actor}.loss_agg_mode", _LOSSES[value]
            case "kl":
                yield f"{actor}.use_kl_loss", value > 0
                yield f"{actor}.kl_loss_coef", value
            case "clip":
                yield from ((f"{actor}.{name}", value) for name in ("clip_ratio", "clip_ratio_low", "clip_ratio_high"))
            case "max_norm":
                yield f"{actor}.grad_clip", value
