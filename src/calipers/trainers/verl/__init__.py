"""verl 0.9: rewards from a judge that sees all rollouts of a prompt at once.

``AgentLoopManager`` is for training; ``compute_score`` is a reward function for ``main_eval`` and verl's reward loop.
``docs/trainers/verl.md`` shows how each is configured.
"""

from __future__ import annotations

from typing import Any

from calipers.registry import load_object
from calipers.trainers.verl.eval import compute_score

__all__ = ["AgentLoopManager", "compute_score"]


def __getattr__(name: str) -> Any:
    """Return the subclass of verl's manager, imported when first used. Raises ConfigError if verl is not installed."""
    if name != "AgentLoopManager":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_object("calipers.trainers.verl.agent_loop:AgentLoopManager")
