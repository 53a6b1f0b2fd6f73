"""What a reward function can find out about the TRL around it: its version, and the trainer that calls it.

Not responsible for what follows from it for rewards (``trl``). TRL is asked for its version, and never imported.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Self, TypeAlias

from calipers.errors import ConfigError

Version: TypeAlias = tuple[int, int]

OLDEST: Final[Version] = (0, 18)
NEWEST: Final[Version] = (1, 16)
"""The newest TRL these reward functions were run in."""

STATES: Final[Version] = (0, 20)
"""From here on TRL's trainers show reward functions their state."""

AWAITS: Final[Version] = (0, 27)
"""From here on TRL awaits reward functions."""

EXCLUDES: Final[Version] = (1, 6)
"""From here on TRL leaves a row without any reward out of its group's baseline; before, it counted as 0."""

UNITES: Final[Version] = (1, 15)
"""From here on processes may log different metrics; before, each waited for the others to log the same."""


def installed() -> Version | None:
    """The TRL installed here, as (major, minor); None where there is none, and for versions that are no such numbers."""
    try:
        found = re.match(r"(\d+)\.(\d+)", version("trl"))
    except PackageNotFoundError:
        return None
    return None if found is None else (int(found[1]), int(found[2]))


def check_version(trl: Version | None, *, only_reward: bool, blocking: bool) -> None:
    """ConfigError where this TRL cannot do what is wanted; a warning where nobody has tried."""
    if trl is None:
        return
    shown = ".".join(map(str, trl))
    if trl < OLDEST:
        raise ConfigError(f"TRL {shown} is older than calipers' reward functions are made for: install trl>=0.18.2")
    if trl < AWAITS and not blocking:
        raise ConfigError(f"TRL {shown} does not await reward functions: pass blocking=True, or install trl>=0.27")
    if trl < EXCLUDES and only_reward:
        raise ConfigError(
            f"TRL {shown} counts a row without a reward as 0, also where there is no other reward function: "
            "leave out only_reward=True, or install trl>=1.6"
        )
    if trl > NEWEST:
        newest = ".".join(map(str, NEWEST))
        warnings.warn(f"TRL {shown} is newer than {newest}, the newest that calipers was tested with", stacklevel=3)


@dataclass(frozen=True, slots=True)
class Caller:
    """The trainer that calls, as far as it can be known; None is unknown.

    ``training`` False is evaluation, ``group_size`` the completions a prompt has in this very batch. ``changes_prompts``
    says that the completions of one prompt may have come to different ones.
    """

    training: bool | None = None
    group_size: int | None = None
    reward_functions: int | None = None
    changes_prompts: bool = False
    step: int | None = None

    @classmethod
    def of(cls, columns: Mapping[str, Any], *, trl: Version | None = None) -> Self:
        """The trainer behind the keyword arguments of a call: its own ``log_metric`` is among them from TRL 1.0 on.

        ``trl`` is the version that calls, where it is known.
        """
        trainer = getattr(columns.get("log_metric"), "__self__", None)
        training = getattr(getattr(trainer, "model", None), "training", None)
        size = getattr(trainer, "num_generations_eval" if training is False else "num_generations", None)
        functions = getattr(trainer, "reward_funcs", None)
        state = columns.get("trainer_state")
        return cls(
            training=training if isinstance(training, bool) else None,
            group_size=size if isinstance(size, int) else None,
            reward_functions=len(functions) if isinstance(functions, list) else None,
            # Environments add to prompts as they begin. AsyncGRPOTrainer, which does not say whether there are any,
            # has no state to show either, and brings one group at a time. The oldest TRLs have neither of the two.
            changes_prompts=columns.get("environments") is not None
            or (state is None and (trl is None or trl >= STATES)),
            step=getattr(state, "global_step", None),
        )

    def size(self, num_generations: int) -> int:
        """How many completions make a group. Raises ConfigError where the trainer trains on groups of another size."""
        if self.group_size is None:
            return num_generations
        if self.training is not False and self.group_size != num_generations:
            raise ConfigError(
                f"reward_func was given num_generations={num_generations}, but the trainer has {self.group_size}: "
                "they must be equal"
            )
        return self.group_size

    def check_only_reward(self) -> None:
        """ConfigError where the trainer has further reward functions."""
        if self.reward_functions is not None and self.reward_functions > 1:
            raise ConfigError(
                f"only_reward=True, but the trainer has {self.reward_functions} reward functions: to the sum of the "
                "others TRL adds 0 for a row without a score. Leave only_reward out: a group is then judged whole or not"
            )
