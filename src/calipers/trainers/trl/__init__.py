"""TRL and Unsloth: reward functions over whole groups."""

from calipers.trainers.trl.reward import AsyncReward, BlockingReward, reward_func

__all__ = ["AsyncReward", "BlockingReward", "reward_func"]
