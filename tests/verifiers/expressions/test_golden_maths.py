"""Chosen pairs of an expected and a given answer compare as the file says."""

from __future__ import annotations

import pytest

import chosen
from calipers.verifiers.expressions import compare_answers


@pytest.mark.parametrize("start", chosen.parts("comparisons"))
def test_answers_are_compared_as_ever(start: int) -> None:
    chosen.check("comparisons", start, lambda given: compare_answers(given["expected"], given["answer"])[0])
