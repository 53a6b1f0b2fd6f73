"""Rewards over HTTP, for training workers that see one rollout at a time: ``calipers serve``.

A rollout waits on the server until its group is whole or its deadline has passed; then the group is judged, once, and
each caller gets its own reward, or no signal with the reason.
"""

from calipers.server.client import AsyncClient, Client, RolloutAnswer

__all__ = ["AsyncClient", "Client", "RolloutAnswer"]
