"""Chosen messages, groups, lines and values are read as the file says."""

from __future__ import annotations

import pytest

import chosen
import drawn_data


@pytest.mark.parametrize("start", chosen.parts("data"))
def test_foreign_data_is_read_as_ever(start: int) -> None:
    chosen.check("data", start, drawn_data.outcome)
