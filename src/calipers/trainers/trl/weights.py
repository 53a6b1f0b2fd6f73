"""TRL's trainers with weighted advantages: a subclass that multiplies them after the trainer's last normalisation.

TRL is never imported: the trainer's class is an argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar

from calipers.errors import ConfigError
from calipers.trainers.rewards import require_finite, sound_weight

_METHOD: Final = "_generate_and_score_completions"

WEIGHTS_FROM: Final = "calipers_weights_from"
"""The attribute of a weighted trainer with the source of its weights."""

T = TypeVar("T")


class HasWeights(Protocol):
    """Has the weight of each of this process's rows after the reward function was called; None: none has one."""

    weights: Sequence[float] | None


def weighted(trainer: type[T], source: HasWeights) -> type[T]:
    """Return a subclass of TRL's GRPOTrainer or RLOOTrainer whose advantages are multiplied by ``source.weights``.

    ``source`` is what ``reward_func(..., weigh=...)`` returned, or has weights like it. A weight of 1 leaves an
    advantage as it is, bit for bit. Raises ConfigError for a class without TRL's method to score completions and for a
    source without weights, and in the run for weights that do not belong to the batch or make an advantage infinite.
    """
    if not callable(getattr(trainer, _METHOD, None)):
        raise ConfigError(
            f"{getattr(trainer, '__name__', trainer)!r} has no {_METHOD}: weighted is for TRL's GRPOTrainer and "
            "RLOOTrainer (1.16), and for trainers derived from them"
        )
    _require_weights(source)

    class Weighted(trainer):  # type: ignore[misc,valid-type]  # the class is an argument
        def _generate_and_score_completions(self, *args: Any, **kwargs: Any) -> Any:
            source.weights = None
            batch = getattr(super(), _METHOD)(*args, **kwargs)
            if source.weights is not None:
                advantages = batch["advantages"]
                batch["advantages"] = _products(advantages, _of_batch(source.weights, len(advantages)))
            return batch

    setattr(Weighted, WEIGHTS_FROM, source)
    Weighted.__name__ = Weighted.__qualname__ = f"Weighted{trainer.__name__}"
    return Weighted


def _require_weights(source: object) -> None:
    name = getattr(source, "__name__", type(source).__name__)
    if not hasattr(source, "weights"):
        raise ConfigError(
            f"{name} has no weights: weighted needs what reward_func(..., weigh=...) returned, or an object with the "
            "attribute weights"
        )
    if not getattr(source, "weighs", True):
        raise ConfigError(
            f"the reward function {name} gives no weights, so the trainer would weigh nothing: make it with "
            "reward_func(..., weigh=reliability_weight)"
        )


def _products(advantages: Any, weights: list[float]) -> Any:
    # Advantages may be one number a row, or one for each of its tokens.
    made = advantages * advantages.new_tensor(weights).reshape(-1, *[1] * (advantages.dim() - 1))
    return require_finite(advantages, made, max(weights, default=1.0))


def _of_batch(weights: Sequence[Any], rows: int) -> list[float]:
    if len(weights) != rows:
        raise ConfigError(
            f"{len(weights)} weights for a batch of {rows} rows: the source of weights must be the reward function of "
            "this trainer"
        )
    return [sound_weight(weight, f"row {number}") for number, weight in enumerate(weights, start=1)]
