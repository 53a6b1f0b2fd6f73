"""verl's V1 trainers with weighted advantages, for VERL_USE_EXTERNAL_MODULES=calipers.trainers.verl.weighted.

Estimators of advantages get rewards and prompts only, so the weights, which ``+calipers.weigh=true`` puts beside
rewards, multiply what ``_compute_advantage`` made. Importing this module replaces verl's registered trainers under
their own names, because verl chooses its replay buffer by the name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import torch
import transfer_queue as tq
from tensordict import TensorDict
from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY

from calipers.trainers.rewards import WEIGHT, require_finite, sound_weight

T = TypeVar("T")


def weighted(trainer: type[T]) -> type[T]:
    """Return a subclass of a V1 trainer of verl whose advantages are multiplied by each rollout's weight.

    A weight of 1 leaves an advantage as it is, bit for bit. Override ``weight_of`` in a subclass for weights of your
    own; the run raises ConfigError for one that is no finite number of 0 or more, or makes an advantage infinite.
    """

    class Weighted(trainer):  # type: ignore[misc,valid-type]  # the class is an argument
        calipers_weighted = True

        def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
            batch = super()._compute_advantage(batch, metrics)
            at = {"keys": batch.keys, "partition_id": batch.partition_id}
            data = tq.kv_batch_get(**at, select_fields=["advantages", "extra_fields"])
            weights = [sound_weight(self.weight_of(_reward_info(one)), "a rollout") for one in data["extra_fields"]]
            rows = [
                require_finite(row, row * weight, weight)
                for row, weight in zip(data["advantages"].unbind(), weights, strict=True)
            ]
            nested = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
            tq.kv_batch_put(**at, fields=TensorDict({"advantages": nested}, batch_size=len(rows)))
            metrics["critic/advantages/calipers_weight"] = math.fsum(weights) / max(len(weights), 1)
            return batch

        def weight_of(self, info: Mapping[str, Any]) -> float:
            """Return a rollout's weight from what verl logs with its reward; 1 where there is none."""
            return info.get(WEIGHT, 1.0)  # type: ignore[no-any-return]  # checked like the weights of an override

    Weighted.__name__ = Weighted.__qualname__ = f"Weighted{trainer.__name__}"
    return Weighted


def _reward_info(extra_fields: Any) -> Mapping[str, Any]:
    fields = getattr(extra_fields, "data", extra_fields)
    info = fields.get("reward_extra_info") if isinstance(fields, Mapping) else None
    return info if isinstance(info, Mapping) else {}


for _name, _trainer in list(TRAINER_REGISTRY.items()):
    TRAINER_REGISTRY[_name] = weighted(_trainer)
