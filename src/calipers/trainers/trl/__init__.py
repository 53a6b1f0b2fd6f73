"""TRL and Unsloth: reward functions over whole groups, weighted advantages, and rollouts with a scaffold."""

from calipers.trainers.trl.reward import (
    AsyncReward,
    BlockingReward,
    reliability_weight,
    reward_func,
    scaffolded_rollouts,
    weighted,
)

__all__ = [
    "AsyncReward",
    "BlockingReward",
    "reliability_weight",
    "reward_func",
    "scaffolded_rollouts",
    "weighted",
]
