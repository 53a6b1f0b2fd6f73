"""Weights of a group's advantages: what a trainer multiplies them by after its last normalisation.

A trainer that divides rewards by their group's standard deviation gives noise the size of signal, and undoes whatever
was done to the rewards. A weight has to reach the advantage; how it gets there is in each engine's module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from calipers.errors import ConfigError
from calipers.rewards.reliable import estimated, weight_of
from calipers.trainers.no_signal.run import one_line
from calipers.types import GroupResult
from calipers.types.encoding import finite_number

LARGEST: Final = 3.4028234663852886e38
"""The largest weight, and the largest advantage times its weight: the largest number of single precision."""

WEIGHT: Final = "calipers_weight"
"""The name under which verl logs the weight of a rollout's advantage with its reward."""

Weigh: TypeAlias = Callable[[GroupResult], float]
"""Returns what the advantages of a judged group are multiplied by: a finite number, 0 or more."""


def reliability_weight(result: GroupResult) -> float:
    """Return √R for the advantages of a judged group, 0 to 1; 1 where R is unknown or assumed.

    Unknown is not zero: a group without standard errors trains as it would without weights.
    """
    return weight_of(result.reliability)


def is_noise_alone(result: GroupResult) -> bool:
    """Return whether the scores of a judged group differ by noise alone, as far as answers show (R = 0).

    Such a group teaches nothing, and a trainer that can may sample another. False where R is unknown or assumed.
    """
    return estimated(result.reliability) == 0


def weights_without_effect(results: Sequence[GroupResult], weigh: Weigh = reliability_weight) -> str | None:
    """Return a warning if weights by reliability are all 1 because no judged group's is estimated."""
    if weigh is not reliability_weight or any(estimated(one.reliability) is not None for one in results):
        return None
    return (
        "weights by reliability have no effect: no group's is known, so that all weights are 1. Ask each group twice "
        "(orders=2), or name a ledger in which the judge's noise is known from earlier answers"
    )


def row_weights(results: Sequence[GroupResult], weigh: Weigh) -> list[float]:
    """Return the weight of every row of a trainer's groups, group after group: that of its group.

    A group that could not be judged has the weight 1, and ``weigh`` is not called for it. Raises ConfigError for a
    weight that is no finite number of 0 or more.
    """
    weights: list[float] = []
    for result in results:
        weight: Any = 1.0 if result.status in {"failed", "abstained"} else weigh(result)
        if (sound := sound_weight(weight)) is None:
            raise ConfigError(
                f"the weight of group {one_line(result.group_id, 80)} is {shown(weight)}: weigh= must return a finite "
                "number, 0 or more; 1 leaves advantages as they are"
            )
        weights += [sound] * len(result.trajectories)
    return weights


def sound_weight(weight: Any) -> float | None:
    """Return a weight as a float; None unless it is a number from 0 to ``LARGEST``.

    A number may also be NumPy's, or a tensor without dimensions. True, False and text are no numbers.
    """
    if getattr(weight, "ndim", None) == 0 and hasattr(weight, "item"):
        weight = weight.item()
    number = finite_number(weight)
    return number if number is not None and 0 <= number <= LARGEST else None


def shown(weight: object) -> str:
    """Return a wrong weight as an error shows it: an integer may have more digits than Python prints."""
    if isinstance(weight, int) and abs(weight) > LARGEST:
        return "an integer that is too large"
    return one_line(repr(weight), 80)


def undone_by_division(kind: str | None, *, instead: str) -> str | None:
    """Return a warning if a trainer that divides by each group's standard deviation undoes this ``kind`` of rewards.

    ``instead`` says what to change. None for rewards that have another advantage than plain scores.
    """
    if kind not in {"shrunk", "weighted", "min_max"}:
        return None
    but = "" if kind == "min_max" else ", and 0 where their reliability is 0"
    return (
        f"reward={kind!r} has no effect here: the trainer divides each group's rewards by their standard deviation, "
        f"which gives the advantages of plain scores{but}. {instead}"
    )
