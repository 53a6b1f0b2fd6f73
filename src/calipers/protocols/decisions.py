"""Standard deviations from the probabilities of a decision endpoint, which stand as JSON in place of a judge's
reasoning.

Not responsible for scores, which are in the reply itself, nor for log-probabilities of tokens (``expected``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from calipers.types import Completion


def spreads_in(completion: Completion, keys: Sequence[str]) -> Mapping[str, float]:
    """The standard deviation of each key's score, on a scale from 0 to 1; empty unless the reasoning is probabilities.

    A key that was refused has none.
    """
    if not completion.reasoning.startswith(f'{{"{keys[0]}": '):
        return {}
    try:
        by_key = json.loads(completion.reasoning)
    except (ValueError, RecursionError):
        return {}
    if list(by_key) != list(keys) or not all(one is None or _is_distribution(one) for one in by_key.values()):
        return {}
    return {key: _spread(one) for key, one in by_key.items() if one is not None}


def _is_distribution(value: object) -> bool:
    if not isinstance(value, list) or len(value) < 2 or not all(type(one) in {int, float} for one in value):
        return False
    return min(value) >= 0 and 0.99 < math.fsum(value) < 1.01


def _spread(probabilities: Sequence[float]) -> float:
    """Of levels that are evenly spaced from 0 to 1."""
    levels = [(level / (len(probabilities) - 1), one) for level, one in enumerate(probabilities)]
    mean = math.fsum(level * one for level, one in levels)
    return math.sqrt(math.fsum((level - mean) ** 2 * one for level, one in levels))
