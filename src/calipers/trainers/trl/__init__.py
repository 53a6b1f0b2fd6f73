"""TRL and Unsloth: reward functions over whole groups, weighted advantages, and rollouts with a scaffold."""

from calipers.trainers.trl.reward import AsyncReward, BlockingReward, reward_func
from calipers.trainers.trl.scaffold import scaffolded_rollouts
from calipers.trainers.trl.weights import weighted
from calipers.trainers.weights import reliability_weight

__all__ = ["AsyncReward", "BlockingReward", "reliability_weight", "reward_func", "scaffolded_rollouts", "weighted"]
