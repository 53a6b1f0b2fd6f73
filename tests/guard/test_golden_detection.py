"""Attacks and look-alikes, whole and damaged, are found as the golden file says: what is quarantined decides
rewards.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import golden
from calipers.judging.excluded import find_attacks_in_group
from calipers.render import render
from detector_cases import Case, cases, staged

CASES = [*cases("tuned"), *cases("held_out")]
SIZE = 24
LONG = ("middle", "tool_args")
"""Kinds of which damage makes another kind, or which take long."""


def found_in(case: Case) -> Any:
    group = case.group()
    found = find_attacks_in_group(group, render(group, reasoning="shown"))
    return {name: [[*hit.to_dict().values()] for hit in hits] for name, hits in sorted(found.items())}


@pytest.mark.parametrize("start", range(0, len(CASES), SIZE))
def test_texts_are_searched_as_ever(start: int) -> None:
    found = {}
    for case in CASES[start : start + SIZE]:
        for text in golden.damaged(case.text, 0 if case.kind in LONG else 4):
            changed = replace(case, text=text, messages=staged(case.kind, text, attack=case.attack))
            found[f"{case.kind} {case.attack} {text}"] = found_in(changed)
    golden.check("attacks", found)
