"""Vices refuse parameters outside their stated ranges, by name."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from calipers.errors import ConfigError
from calipers.testing import (
    Coarse,
    Constant,
    Drift,
    Flaky,
    Injectable,
    LengthBias,
    Noise,
    OffScale,
    PermutedIds,
    PositionBias,
    ReorderedRows,
    Severity,
    Sycophancy,
)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Noise(-0.1), "sd"),
        (lambda: Noise(math.nan), "sd"),
        (lambda: Noise(0.1, per="day"), "per"),  # type: ignore[arg-type]  # the mistake under test
        (lambda: Noise(0.1, seed=3), "seed"),
        (lambda: PositionBias(math.inf), "strength"),
        (lambda: LengthBias(math.nan), "per_doubling"),
        (lambda: Sycophancy(limit=0), "limit"),
        (lambda: Sycophancy(phrases=()), "phrases"),
        (lambda: Injectable(1.5), "probability"),
        (lambda: Injectable(orders=("(",)), "orders"),
        (lambda: Severity(gain=-1), "gain"),
        (lambda: Constant(value=2), "value"),
        (lambda: Constant(share=-1), "share"),
        (lambda: Coarse(1), "levels"),
        (lambda: Drift(Noise(0.1), start=-1), "start"),
        (lambda: Drift(Noise(0.1), over=-1), "over"),
        (lambda: OffScale((10, 0)), "scale"),
        (lambda: OffScale((0, math.inf)), "scale"),
        (lambda: OffScale(share=2), "share"),
        (lambda: OffScale(per="word"), "per"),  # type: ignore[arg-type]  # the mistake under test
        (lambda: OffScale(step=0), "step"),
        (lambda: PermutedIds(share=2), "share"),
        (lambda: ReorderedRows("upside down"), "how"),  # type: ignore[arg-type]  # the mistake under test
        (lambda: Flaky(malformed=-0.1), "malformed"),
        (lambda: Flaky(malformed=0.6, empty=0.6), "sum to 1.2"),
        (lambda: Flaky(retry_after=-1), "retry_after"),
    ],
)
def test_a_parameter_out_of_range_is_named(make: Callable[[], object], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        make()
