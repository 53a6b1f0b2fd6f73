"""OpenRLHF: an agent executor and a reward function that judge whole groups."""

from calipers.trainers.openrlhf.reward import (
    agent_executor,
    reward_func,
)

__all__ = [
    "agent_executor",
    "reward_func",
]
