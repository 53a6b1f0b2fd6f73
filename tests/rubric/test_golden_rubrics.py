"""Chosen rules, rubrics, rows of data sets, unknown keys and scaffolds are read as the files say."""

from __future__ import annotations

import pytest

import chosen
import drawn_data


@pytest.mark.parametrize(
    ("name", "start"), [(name, start) for name in ("rules", "rubrics") for start in chosen.parts(name)]
)
def test_rules_rubrics_and_rows_are_read_as_ever(name: str, start: int) -> None:
    chosen.check(name, start, drawn_data.outcome)
