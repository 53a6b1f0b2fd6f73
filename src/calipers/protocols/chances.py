"""How sure a decision endpoint was: its probabilities stand, as JSON, where another judge's reasoning does.

Not responsible for the scores, which the reply itself says, nor for what a chat model's tokens tell (``expected``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from calipers.types import Completion

NONE: Mapping[str, float] = MappingProxyType({})


def spreads_told(completion: Completion, keys: Sequence[str]) -> Mapping[str, float]:
    """The standard deviation of each key's score, on a scale from 0 to 1; empty unless all that is there are probabilities.

    A key that was refused has none.
    """
    if not completion.reasoning or not completion.reasoning.startswith(f'{{"{keys[0]}": '):
        return NONE
    try:
        told = json.loads(completion.reasoning)
    except (ValueError, RecursionError):
        return NONE
    if list(told) != list(keys) or not all(chances is None or _is_distribution(chances) for chances in told.values()):
        return NONE
    return {key: _spread(chances) for key, chances in told.items() if chances is not None}


def _is_distribution(value: object) -> bool:
    if not isinstance(value, list) or len(value) < 2 or not all(type(one) in {int, float} for one in value):
        return False
    return min(value) >= 0 and 0.99 < math.fsum(value) < 1.01


def _spread(chances: Sequence[float]) -> float:
    """Of levels that are evenly spaced from 0 to 1."""
    levels = [level / (len(chances) - 1) for level in range(len(chances))]
    mean = math.fsum(level * chance for level, chance in zip(levels, chances, strict=True))
    return math.sqrt(math.fsum((level - mean) ** 2 * chance for level, chance in zip(levels, chances, strict=True)))
