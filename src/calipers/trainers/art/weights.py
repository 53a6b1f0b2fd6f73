"""ART's advantages with weights: a wrapper of its function that makes training data of trajectory groups.

ART is never imported: its function is an argument. Not responsible for the weights (``trainers.weights``), which
``ruler_score_group`` puts into the group's metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from calipers.errors import ConfigError
from calipers.trainers.weights import LARGEST, shown, sound_weight

WEIGHT: Final = "calipers/weight"
"""The metric of an ART group with the weight of its advantages."""

Tokenize: TypeAlias = Callable[..., Iterator[Any]]


def weighted(tokenize: Tokenize) -> Tokenize:
    """Return ART's ``tokenize_trajectory_groups`` with each advantage multiplied by its group's weight.

    The weight is the metric ``calipers/weight`` of the group: a finite number of 0 or more, 1 where there is none. A
    weight of 1 leaves an advantage as it is, bit for bit. Raises ConfigError for another weight, and for one so large
    that single precision cannot hold the advantage.
    """

    def run(tokenizer: Any, trajectory_groups: Sequence[Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
        for group in trajectory_groups:
            weight = _weight_of(group)
            for result in tokenize(tokenizer, [group], *args, **kwargs):
                result.advantage = _product(result.advantage, weight)
                yield result

    return run


def _weight_of(group: Any) -> float:
    weight = getattr(group, "metrics", {}).get(WEIGHT, 1.0)
    if (found := sound_weight(weight)) is None:
        raise ConfigError(f"the metric {WEIGHT} of a group is {shown(weight)}: it must be a finite number, 0 or more")
    return found


def _product(advantage: float, weight: float) -> float:
    if abs(advantage) <= LARGEST < abs(advantage * weight):
        raise ConfigError(f"the metric {WEIGHT} of a group is {weight!r}: its advantages become too large")
    return advantage * weight
