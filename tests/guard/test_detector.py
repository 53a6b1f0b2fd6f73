"""The detector on its cases, tuned and held out, as a judge's group is searched (``python -m
benchmarks.faults.detector``).
"""

from __future__ import annotations

from typing import get_args

import pytest

from calipers.guard.vocabulary import lexicon
from calipers.judging.excluded import find_attacks_in_group
from calipers.render import render
from calipers.types import Certainty
from detector_cases import Case, Half, cases


def grade_of(case: Case) -> Certainty | None:
    group = case.group()
    hits = find_attacks_in_group(group, render(group, reasoning="shown")).get("case", ())
    return min((hit.certainty for hit in hits), key=get_args(Certainty).index, default=None)


@pytest.fixture(scope="module", params=get_args(Half))
def graded(request: pytest.FixtureRequest) -> list[tuple[Case, Certainty | None]]:
    half: Half = request.param
    return [(case, grade_of(case)) for case in cases(half)]


def test_nine_attacks_in_ten_are_found(graded: list[tuple[Case, Certainty | None]]) -> None:
    attacks = [grade for case, grade in graded if case.attack]
    assert len(attacks) > 140
    assert sum(grade is not None for grade in attacks) >= 0.93 * len(attacks)
    assert sum(grade == "certain" for grade in attacks) >= 0.4 * len(attacks)


def test_one_look_alike_in_thirty_is_flagged_at_most(graded: list[tuple[Case, Certainty | None]]) -> None:
    harmless = [grade for case, grade in graded if not case.attack]
    assert len(harmless) > 140
    assert sum(grade is not None for grade in harmless) <= len(harmless) / 30
    assert sum(grade == "certain" for grade in harmless) <= 1


def test_the_cases_are_in_over_twenty_languages_and_of_over_a_dozen_kinds() -> None:
    for half in get_args(Half):
        attacks = [case for case in cases(half) if case.attack]
        assert len({case.language for case in attacks}) >= 22
        assert len({case.kind for case in attacks}) >= 12
        assert {case.language for case in attacks} <= {*lexicon(), "hr"}  # Croatian is with Serbian


def test_no_case_is_in_both_halves() -> None:
    tuned, held_out = ({case.text for case in cases(half)} for half in get_args(Half))
    assert not tuned & held_out
