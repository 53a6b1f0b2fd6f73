"""Read TRL's version, and the state of the trainer that calls a reward function.

Not responsible for what follows from them for rewards (``trl.reward``). TRL is never imported.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, TypeAlias

from calipers.errors import ConfigError

Version: TypeAlias = tuple[int, int]

OLDEST: Final[Version] = (0, 18)
NEWEST: Final[Version] = (1, 16)
"""The newest TRL that these reward functions were tested with."""

PASSES_STATE: Final[Version] = (0, 20)
"""The first TRL whose trainers pass reward functions their state."""

AWAITS: Final[Version] = (0, 27)
"""The first TRL that awaits reward functions."""

EXCLUDES_MISSING: Final[Version] = (1, 6)
"""The first TRL that excludes a row without any reward from its group's baseline; older versions count it as 0."""

LOGS_ANY_METRICS: Final[Version] = (1, 15)
"""The first TRL whose processes may log different metrics; older versions wait until all processes log the same."""


def check_version(trl: Version | None, *, only_reward: bool, blocking: bool) -> None:
    """Raise ConfigError if this version of TRL does not support the options; warn if it is newer than the tested
    versions.
    """
    if trl is None:
        return
    shown = ".".join(map(str, trl))
    if trl < OLDEST:
        raise ConfigError(f"TRL {shown} is too old for calipers' reward functions: install trl>=0.18.2")
    if trl < AWAITS and not blocking:
        raise ConfigError(f"TRL {shown} does not await reward functions: pass blocking=True, or install trl>=0.27")
    if trl < EXCLUDES_MISSING and only_reward:
        raise ConfigError(
            f"TRL {shown} counts a row without a reward as 0, even if there is no other reward function: remove "
            "only_reward=True, or install trl>=1.6"
        )
    if trl > NEWEST:
        newest = ".".join(map(str, NEWEST))
        warnings.warn(f"TRL {shown} is newer than {newest}, the newest that calipers was tested with", stacklevel=3)


@dataclass(frozen=True, slots=True)
class Caller:
    """The TRL trainer that calls a reward function. A field is None if it is unknown.

    ``training`` is False in evaluation. ``group_size`` is the number of completions per prompt in this batch.
    ``changes_prompts`` is True if the rows of a prompt may have got different prompts.
    """

    training: bool | None = None
    group_size: int | None = None
    reward_functions: int | None = None
    changes_prompts: bool = False
    step: int | None = None

    @classmethod
    def of(cls, columns: Mapping[str, Any], *, trl: Version | None = None) -> Self:
        """Return the TRL trainer that made a call with these keyword arguments.

        From TRL 1.0 on, they contain its ``log_metric``.

        ``trl`` is the version of TRL, if known.
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
            # Environments extend prompts when they start. AsyncGRPOTrainer may have environments, but passes neither
            # them nor a state. A TRL before PASSES_STATE never passes a state, and has no environments.
            changes_prompts=columns.get("environments") is not None
            or (state is None and (trl is None or trl >= PASSES_STATE)),
            step=getattr(state, "global_step", None),
        )

    def size(self, num_generations: int) -> int:
        """Return the number of completions in a group of the TRL trainer.

        Raises ConfigError if the trainer trains on groups of another size.
        """
        if self.group_size is None:
            return num_generations
        if self.training is not False and self.group_size != num_generations:
            raise ConfigError(
                f"reward_func was given num_generations={num_generations}, but the trainer has {self.group_size}: "
                "they must be equal"
            )
        return self.group_size

    def check_only_reward(self) -> None:
        """Raise ConfigError if the TRL trainer has other reward functions."""
        if self.reward_functions is not None and self.reward_functions > 1:
            raise ConfigError(
                f"only_reward=True, but the trainer has {self.reward_functions} reward functions, and TRL adds 0 to "
                "the others' sum for a row without a score. Remove only_reward=True: then a whole group gets no "
                "reward"
            )
