"""Read TRL's version, and the state of the trainer that calls a reward function.

Not responsible for what follows from them for rewards (``trl.reward``). TRL is never imported.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, TypeAlias
from urllib.parse import urlsplit

from calipers.errors import ConfigError
from calipers.trainers.trl.weights import WEIGHTS_FROM
from calipers.trainers.weights import undone_by_division

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


_DEFAULT_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


def check_version(trl: Version | None, *, only_reward: bool | None, blocking: bool) -> None:
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
    ``changes_prompts`` is True if the rows of a prompt may have got different prompts. ``scale`` is what centred
    rewards are divided by ("group", "batch", "none"). ``sums_normalised`` is True if
    TRL divides each function's rewards by their group's deviation first. ``weights_from`` is the source of weights of
    advantages. ``policy_server`` is the host and port of the vLLM server that generates the policy's completions.
    """

    training: bool | None = None
    group_size: int | None = None
    reward_functions: int | None = None
    changes_prompts: bool = False
    step: int | None = None
    scale: str | None = None
    sums_normalised: bool = False
    weights_from: object = None
    policy_server: tuple[str, int] | None = None

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
            scale=str(scale) if (scale := getattr(trainer, "scale_rewards", None)) is not None else None,
            sums_normalised=getattr(trainer, "multi_objective_aggregation", None) == "normalize_then_sum",
            weights_from=getattr(trainer, WEIGHTS_FROM, None),
            policy_server=_server_of_policy(trainer),
        )

    def warnings(
        self,
        reward: object,
        *,
        kind: str | None,
        weighs: bool,
        judges: Sequence[str] = (),
    ) -> list[str]:
        """Return what the TRL trainer makes of a ``reward`` function's settings that has no effect, or a bad one.

        ``kind`` is that of the judge's rewards; ``weighs`` says whether the function gives weights. ``judges`` are the
        addresses of the judges.
        """
        found: list[str | None] = [
            f"the judge at {judge} is the vLLM server of the policy in training: it prefers its own answers, its "
            "standards change with every update of the weights, and a ledger's answers are those of earlier weights. "
            "Serve a frozen model at another address"
            for judge in judges
            if self.policy_server is not None and _host_and_port(judge) == self.policy_server
        ]
        found.append(self._undone_by_division(kind))
        if weighs and self.training is not None and self.weights_from is not reward:
            found.append(
                "weigh= has no effect: the trainer does not multiply advantages by the function's weights. Make it "
                "with weighted(GRPOTrainer, reward)(...)"
            )
        return [one for one in found if one is not None]

    def _undone_by_division(self, kind: str | None) -> str | None:
        if self.sums_normalised:
            instead = "Set multi_objective_aggregation to 'sum_then_normalize', and scale_rewards to 'batch' or 'none'"
        elif self.scale in {"group", "True"} and (self.reward_functions or 1) == 1:
            instead = "Set scale_rewards to 'batch' or 'none', or weight advantages: weighted(GRPOTrainer, reward)"
        else:
            return None
        return undone_by_division(kind, instead=instead)

    def size(self, num_generations: int | None) -> int:
        """Return the number of completions in a group of the TRL trainer. ``num_generations=None``: the trainer's own.

        Raises ConfigError if the trainer trains on groups of another size, or if nobody says of which.
        """
        if self.group_size is None:
            if num_generations is None:
                raise ConfigError(
                    "this trainer does not show its group size to reward functions: give reward_func "
                    "num_generations=, the trainer's own"
                )
            return num_generations
        if num_generations is not None and self.training is not False and self.group_size != num_generations:
            raise ConfigError(
                f"reward_func was given num_generations={num_generations}, but the trainer has {self.group_size}: "
                "they must be equal"
            )
        return self.group_size

    def is_only_reward(self, *, trl: Version | None) -> bool:
        """Return whether the TRL trainer certainly has one reward function, and leaves out rows without a reward."""
        return self.reward_functions == 1 and trl is not None and trl >= EXCLUDES_MISSING

    def check_only_reward(self) -> None:
        """Raise ConfigError if the TRL trainer has other reward functions."""
        if self.reward_functions is not None and self.reward_functions > 1:
            raise ConfigError(
                f"only_reward=True, but the trainer has {self.reward_functions} reward functions, and TRL adds 0 to "
                "the others' sum for a row without a score. Remove only_reward=True: then a whole group gets no "
                "reward"
            )


def _server_of_policy(trainer: object) -> tuple[str, int] | None:
    """Return host and port of the server that a TRL trainer generates with; None if it generates in its process."""
    args = getattr(trainer, "args", None)
    if not getattr(trainer, "use_vllm", False) or getattr(args, "vllm_mode", None) != "server":
        return None
    host, port = getattr(args, "vllm_server_host", None), getattr(args, "vllm_server_port", None)
    return _host_and_port(getattr(args, "vllm_server_base_url", None) or f"http://{host}:{port}")


def _host_and_port(address: str) -> tuple[str, int] | None:
    """Return what distinguishes servers, with one name for this machine; None for a judge that is no server."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return None
    if host is None or port is None:
        return None
    return ("localhost" if host in {"0.0.0.0", "127.0.0.1", "::1", "::"} else host, port)  # noqa: S104 - compared only
