"""Chosen rubrics, rows of data sets, unknown keys and scaffolds are read as the file says."""

from __future__ import annotations

import pytest

import chosen
import drawn_data


@pytest.mark.parametrize("start", chosen.parts("rubrics"))
def test_rubrics_and_rows_are_read_as_ever(start: int) -> None:
    chosen.check("rubrics", start, drawn_data.outcome)
