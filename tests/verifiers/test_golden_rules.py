"""Chosen rules and answers get the verdicts on file."""

from __future__ import annotations

import pytest

import chosen
import drawn_data


@pytest.mark.parametrize("start", chosen.parts("rules"))
def test_rules_are_built_and_checked_as_ever(start: int) -> None:
    chosen.check("rules", start, drawn_data.outcome)
