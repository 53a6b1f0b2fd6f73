"""Chosen draws give the scores, errors, weights and rewards on file, whatever is rewritten underneath."""

from __future__ import annotations

import pytest

import chosen
import drawn_statistics


@pytest.mark.parametrize("start", chosen.parts("statistics"))
def test_numbers_come_out_as_ever(start: int) -> None:
    chosen.check("statistics", start, lambda given: drawn_statistics.drawn(*given))
