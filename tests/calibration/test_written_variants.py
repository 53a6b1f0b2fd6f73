"""Judges asked without and with criteria of the prompt: two variants, which no panel mixes."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration import calibrate
from calipers.calibration.written_variants import with_criteria, without_criteria
from judged import groups, rated

GROUPS = groups(60)


def said(**noise: float) -> list[dict[str, Any]]:
    """Judgments of judges with this noise; of ``a_auto``, judge ``a`` with criteria."""
    found: list[dict[str, Any]] = []
    for name, size in noise.items():
        judge, _, written = name.partition("_")
        variant = with_criteria(None) if written else None
        found += rated(GROUPS, judge, size, calls=2, seed=len(name), prompt_variant=variant)
    return found


@given(st.none() | st.text(min_size=1))
def test_a_variant_with_criteria_leads_back_to_the_one_without(variant: str | None) -> None:
    assert without_criteria(with_criteria(variant)) == (variant, True)


def test_a_variant_that_only_sounds_like_it_has_no_criteria() -> None:
    for name in ("criteria", "my-auto-criteria", "auto-criteria-2"):
        assert without_criteria(name) == (name, False)


def test_the_recommendation_asks_for_criteria_where_they_are_better_and_only_there() -> None:
    better = tomllib.loads(calibrate(GROUPS, said(a=1.5, a_auto=0.2)).recommendation)
    assert (better["judge"], better["criteria"]) == (["a"], "auto")
    assert "rubric" not in better
    worse = tomllib.loads(calibrate(GROUPS, said(a=0.2, a_auto=1.5)).recommendation)
    assert "criteria" not in worse


def test_the_rubric_of_a_variant_with_criteria_is_that_without() -> None:
    judgments = list(rated(GROUPS, "a", 0.3, prompt_variant=with_criteria("plain")))
    found = calibrate(GROUPS, judgments, rubrics={"plain": "plain.txt"})
    block = tomllib.loads(found.recommendation)
    assert (block["criteria"], block["rubric"]) == ("auto", "plain.txt")


def test_no_panel_mixes_judges_with_and_without_criteria() -> None:
    """``a`` is best with criteria and ``b`` without, so the best panel of all would mix them."""
    found = calibrate(GROUPS, said(a=2.0, a_auto=0.9, b=0.9, b_auto=2.0))
    panels = [way.members for way in found.ways if len(way.members) > 1]
    flags = [{without_criteria(key.prompt_variant)[1] for key in members} for members in panels]
    assert flags
    assert all(len(one) == 1 for one in flags)
