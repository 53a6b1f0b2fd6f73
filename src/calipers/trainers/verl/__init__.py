"""verl 0.9: rewards from a judge that sees all rollouts of a prompt at once.

``AgentLoopManager`` is for training; ``compute_score`` is a reward function for ``main_eval`` and verl's reward loop.
``docs/trainers/verl.md`` shows how each is configured.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from calipers.errors import ConfigError
from calipers.trainers.verl.eval import compute_score

__all__ = ["AgentLoopManager", "compute_score"]


def __getattr__(name: str) -> Any:
    """Return the subclass of verl's manager, imported when first used. Raises ConfigError if verl is not installed."""
    if name != "AgentLoopManager":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return import_module("calipers.trainers.verl.agent_loop").AgentLoopManager
    except ImportError as error:
        install = "pip install 'calipers[verl]', on Python 3.12 or older"
        raise ConfigError(f"{__name__}.{name} needs verl's V1 trainer ({error}): {install}") from error
