"""TRL and Unsloth: reward functions over whole groups, and weighted advantages."""

from calipers.trainers.rewards import reliability_weight
from calipers.trainers.trl.reward import AsyncReward, BlockingReward, reward_func
from calipers.trainers.trl.weights import weighted

__all__ = ["AsyncReward", "BlockingReward", "reliability_weight", "reward_func", "weighted"]
