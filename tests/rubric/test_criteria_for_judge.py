"""What is left for a judge to decide once rules have spoken."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.rubric import Grading, as_rubric
from calipers.rubric.formulas import criteria_for_judge, graded, score_from_rules
from calipers.types import Verdict

RUBRIC = as_rubric([
    {"id": "short", "text": "Is short.", "points": 2, "rule": "has_answer"},
    {"id": "comma", "text": "Has a comma.", "points": -1, "rule": "has_answer"},
    {"id": "kind", "text": "Is kind.", "points": 3},
])  # fmt: skip


def left(ruled: dict[str, bool | None], **grading: Any) -> list[str]:
    verdicts = {name: Verdict(met) for name, met in ruled.items()}
    return [one.id for one in criteria_for_judge(RUBRIC, verdicts, Grading(**grading))]


@pytest.mark.parametrize(("ruled", "grading", "expected"), [
    ({}, {}, ["short", "comma", "kind"]),
    ({"short": True, "comma": False}, {}, ["kind"]),
    ({"short": False, "comma": True}, {}, ["kind"]),
    ({"short": None, "comma": True}, {}, []),
    ({"short": None, "comma": True}, {"on_missing": "partial"}, ["kind"]),
    ({"short": False, "comma": False}, {"normaliser": "all_or_nothing"}, []),
    ({"short": True, "comma": True}, {"normaliser": "all_or_nothing"}, []),
    ({"short": True, "comma": False}, {"normaliser": "all_or_nothing"}, ["kind"]),
    ({"short": None, "comma": False}, {"normaliser": "all_or_nothing"}, ["kind"]),
    ({"short": True, "comma": True, "kind": True}, {}, []),
])  # fmt: skip
def test_only_what_can_still_matter_is_asked(ruled: Any, grading: Any, expected: list[str]) -> None:
    assert left(ruled, **grading) == expected


@given(st.dictionaries(st.sampled_from(["short", "comma", "kind"]), st.sampled_from([True, False, None])),
       st.sampled_from(["healthbench", "all_or_nothing", "fraction", "ruscarl_batch"]), st.booleans())  # fmt: skip
def test_a_settled_score_is_the_score_whatever_a_judge_says(ruled: Any, normaliser: Any, said: Any) -> None:
    grading = Grading(normaliser=normaliser)
    value = score_from_rules(RUBRIC, {name: Verdict(met) for name, met in ruled.items()}, grading)
    if value is not None:
        filled = {one.id: said if ruled.get(one.id) is None else ruled[one.id] for one in RUBRIC.criteria}
        assert graded(RUBRIC, filled, normaliser=normaliser).value == value
