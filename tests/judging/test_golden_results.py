"""Chosen answers make the results on file: statuses, scores, bills, and what warnings and reasons quote."""

from __future__ import annotations

import pytest

import chosen
import drawn_results


@pytest.mark.parametrize("start", chosen.parts("results"))
def test_answers_make_the_results_they_made(start: int) -> None:
    chosen.check("results", start, drawn_results.drawn)
