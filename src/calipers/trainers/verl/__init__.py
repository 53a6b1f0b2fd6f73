"""verl 0.9: rewards from a judge that sees all rollouts of a prompt at once.

For training use ``AgentLoopManager``, or as a fallback ``RewardManager``. ``ScaffoldManager`` puts rubrics into the
prompts of rollouts, and ``ShadowManager`` has a judge score them beside today's reward. Their rewards come from verl's
own reward loop. ``compute_score`` is a reward function for
``main_eval``. ``rubric_batch`` and ``verif`` are reward functions like RuscaRL's and VerIF's. ``docs/trainers/verl.md``
shows how each is configured. verl and Ray are imported when one of the classes is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.trainers.verl.eval import compute_score
from calipers.trainers.verl.recipes import rubric_batch, verif

__all__ = [
    "AgentLoopManager",
    "RewardManager",
    "ScaffoldManager",
    "ShadowManager",
    "compute_score",
    "rubric_batch",
    "verif",
]

_MODULES: Final = {
    "AgentLoopManager": "calipers.trainers.verl.agent_loop",
    "RewardManager": "calipers.trainers.verl.reward",
    "ScaffoldManager": "calipers.trainers.verl.scaffold",
    "ShadowManager": "calipers.trainers.shadow.verl",
}
_INSTALL: Final = "pip install 'calipers[verl]', on Python 3.12 or older"


def __getattr__(name: str) -> Any:
    """Return a subclass of a verl class, imported when first used. Raises ConfigError if verl is not installed."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ImportError as error:
        raise ConfigError(f"{__name__}.{name} needs verl's V1 trainer ({error}): {_INSTALL}") from error
