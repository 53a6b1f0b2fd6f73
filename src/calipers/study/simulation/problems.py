"""What is wrong with an arm's settings taken together, where each alone is in its range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from calipers.study.simulation.settings import Arm, PolicySettings
from calipers.types.encoding import finite_number


def problems_of_arm(arm: Arm) -> Iterator[str]:
    """Yield every reason why an arm cannot be simulated, as a sentence for its user."""
    yield from _problems_of_policy(arm.policy)


def _problems_of_policy(policy: PolicySettings) -> Iterator[str]:
    kinds = _numbers(policy.quality)
    if not kinds or not all(0 < one < 1 for one in kinds):
        yield "policy: quality must be a list of numbers above 0 and below 1, one for each kind of prompt"
    shares = _numbers(policy.shares)
    if shares is None or any(one <= 0 for one in shares) or len(shares) not in (0, len(kinds or ())):
        yield "policy: shares must be a list of positive numbers, as many as quality has"
    if not policy.length_floor < policy.length_mean < policy.length_cap:
        yield "policy: length_mean must be above length_floor and below length_cap"


def _numbers(value: Any) -> list[float] | None:
    if not isinstance(value, list | tuple):
        return None
    found = [finite_number(one) for one in value]
    return [one for one in found if one is not None] if None not in found else None
