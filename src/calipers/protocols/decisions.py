"""Reads standard deviations from the probabilities that a decision endpoint returns as JSON in place of reasoning."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from calipers.types import Completion


def spreads_from_probabilities(completion: Completion, keys: Sequence[str]) -> Mapping[str, float]:
    """Return the standard deviation of each key's score (scale 0 to 1) in a reply to a protocol's question.

    It is computed from probabilities in the completion. Empty if the reasoning contains no probabilities. A key that
    the endpoint refused to score is omitted.
    """
    if not completion.reasoning.startswith(f'{{"{keys[0]}": '):
        return {}
    try:
        by_key = json.loads(completion.reasoning)
    except (ValueError, RecursionError):
        return {}
    if list(by_key) != list(keys) or not all(value is None or _is_distribution(value) for value in by_key.values()):
        return {}
    return {key: _standard_deviation(value) for key, value in by_key.items() if value is not None}


def _is_distribution(value: object) -> bool:
    if not isinstance(value, list) or len(value) < 2 or not all(type(share) in {int, float} for share in value):
        return False
    return min(value) >= 0 and 0.99 < math.fsum(value) < 1.01


def _standard_deviation(probabilities: Sequence[float]) -> float:
    """Return the standard deviation of a score whose possible levels are evenly spaced from 0 to 1."""
    levels = [(level / (len(probabilities) - 1), share) for level, share in enumerate(probabilities)]
    mean = math.fsum(level * share for level, share in levels)
    return math.sqrt(math.fsum((level - mean) ** 2 * share for level, share in levels))
