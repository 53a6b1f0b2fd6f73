"""Rubrics from plain data: what is taken, and what is refused in one sentence naming criterion and field."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chosen
import drawn_data
from calipers.errors import ConfigError
from calipers.rubric import Grading, as_rubric, criteria_as_text
from calipers.rubric.dataset_criteria import rar_criterion
from calipers.rubric.formulas import graded
from calipers.types import Criterion, Rubric

POINTS = st.floats(-10, 10).filter(lambda points: abs(points) > 1e-6)
CRITERIA = st.lists(
    st.builds(Criterion, st.uuids().map(str), st.text(min_size=1).filter(str.strip), POINTS,
              st.lists(st.sampled_from(["axis:accuracy", "core"]), max_size=2).map(tuple), st.booleans()),
    min_size=1, max_size=6, unique_by=lambda criterion: criterion.id,
)  # fmt: skip


@given(CRITERIA)
def test_a_rubric_survives_json_in_both_its_plain_forms(criteria: Any):
    positive = any(criterion.points > 0 for criterion in criteria)
    rubric = Rubric(tuple(criteria), "t", "refuse" if positive else "from_one", -0.5)
    assert as_rubric(json.loads(json.dumps(rubric.to_dict()))) == rubric
    assert as_rubric(json.loads(json.dumps(asdict(rubric)))) == rubric


@pytest.mark.parametrize(("tags", "expected"), [
    ({"axis": "accuracy", "cluster": None}, ("axis:accuracy",)),
    (["level:example", "axis:accuracy"], ("level:example", "axis:accuracy")),
    (["core", "style"], ("core", "style")), (["axis:verifier:oracle"], ("axis:verifier:oracle",)),
    ({"verifier": "llm", "function": "llm", "parameters": {"answer": ""}}, ("verifier:llm",)),
])  # fmt: skip
def test_tags_come_in_three_forms(tags: Any, expected: Any):
    criterion = as_rubric([{"text": "x", "tags": tags}]).criteria[0]
    assert (criterion.tags, criterion.rule) == (expected, None)


def test_a_rule_in_tags_is_a_rule_without_the_fields_of_other_rows():
    rule = {"function": "word_count_range", "parameters": {"min": 3}}
    in_object = {"verifier": "rule", "function": "word_count_range", "parameters": {"min": 3, "max": None}}
    in_texts = ["verifier:rule", "function:word_count_range", 'parameters:{"min": 3}']
    found = [as_rubric([{"text": "x", "tags": tags}]) for tags in (in_object, in_texts, {"axis": "a", **in_object})]
    assert [one.criteria[0].rule for one in found] == [rule] * 3
    assert [as_rubric(json.loads(json.dumps(one.to_dict()))) for one in found] == found
    for broken in ("{3", "[" * 100_000):
        with pytest.raises(ConfigError, match="criterion 1: the rule's parameters are not JSON"):
            as_rubric([{"text": "x", "tags": [*in_texts[:2], f"parameters:{broken}"]}])


@pytest.mark.parametrize(("value", "complaint"), [
    ("text", "a rubric cannot be of type str"),
    ({}, "no list of criteria"),
    ([], "no criteria"),
    ([7], "criterion 1: it must be text or an object"),
    ([{"points": 1}], "criterion 1: text is missing"),
    ([{"text": " "}], "criterion 1 .*text is empty"),
    ([{"text": "x", "points": "5"}], "criterion 1: points must be a finite number, not '5'"),
    ([{"text": "x", "points": float("nan")}], "criterion 1: points must be a finite number"),
    ([{"text": "x", "points": True}], "criterion 1: points must be a finite number"),
    ([{"text": "x", "points": 0}], "all criteria have 0 points"),
    (["y", {"text": "x", "points": 0, "veto": True}], "criterion 2 .*a veto needs points"),
    ([{"text": "x", "pionts": 3}], "criterion 1: unknown field 'pionts'; did you mean 'points'"),
    ([{"text": "x", "id": "a"}, {"text": "y", "id": "a"}], "criteria 1 and 2 have the same id 'a'"),
    ([{"text": "x", "points": -1}], "no criterion has positive points.*from_one"),
    ([{"text": "x", "tags": {"verifier": "oracle"}}], "verifier:oracle is unknown; known: llm, rule"),
    ([{"text": "x", "tags": {"verifier": "rule", "function": "rm"}}], "function 'rm' is unknown"),
    ([{"text": "x", "tags": ["verifier:rule:1"]}], "verifier:rule:1 is unknown"),
    ([{"text": "x", "tags": [3]}], "tags are words"),
    ([{"text": "x", "tags": "core"}], "tags must be a list or an object"),
    ([{"text": "x", "veto": "yes"}], "veto must be true or false"),
    ([{"text": "x", "levels": {"all": 1}}], "unknown field 'levels'"),
    ({"criteria": ["x"], "all_negative": "from_one"}, "for rubrics without positive points"),
    ({"criteria": ["x"], "all_negative": "maybe"}, "refuse or from_one"),
    ({"criteria": ["x"], "veto_floor": "low"}, "veto_floor must be a finite number"),
    ({"criteria": ["x"], "veto_floor": 5}, "veto_floor=5: it must be below 1"),
])  # fmt: skip
def test_what_is_wrong_is_named(value: Any, complaint: str):
    with pytest.raises(ConfigError, match=complaint):
        as_rubric(value)


def test_questions_are_criteria_of_one_point_named_by_their_place_and_as_text_lines_that_say_what_to_avoid():
    rubric = as_rubric(["Be kind.", {"text": "Shouts.", "points": -2}, "Is it short?"])
    assert [(one.id, one.points) for one in rubric.criteria] == [("c1", 1.0), ("c2", -2), ("c3", 1.0)]
    assert criteria_as_text(rubric) == "- Be kind.\n- Avoid: Shouts.\n- Is it short?"


@pytest.mark.parametrize("points", [(1e308, 1e308), (1e308, -1e308), (1e-308, -1e308), (5e-324, -1.0)])
def test_points_whose_score_could_overflow_are_refused(points: tuple[float, float]) -> None:
    with pytest.raises(ConfigError, match=r"too large for a number|differ too much in size"):
        as_rubric([{"text": "x", "points": one} for one in points])
    large = as_rubric([{"text": "x", "points": 8e307}, {"text": "y", "points": -8e307}])
    assert graded(large, {"c1": False, "c2": True}, Grading()) == -1.0


def test_points_and_weight_that_differ_are_refused():
    listed: list[dict[str, object]] = [{"text": "x", "points": 1}, {"text": "y", "points": 2, "weight": 3}]
    with pytest.raises(ConfigError, match="criterion 2: its 'points' and its 'weight' differ; keep one of the two"):
        as_rubric(listed)
    listed[1]["weight"] = 2.0
    assert [one.points for one in as_rubric(listed).criteria] == [1, 2]
    with pytest.raises(ConfigError, match="keep one of the two"):
        rar_criterion({"description": "Essential Criteria: z", "points": 2, "weight": 3}, 1, "penalty")


@pytest.mark.parametrize(
    ("name", "start"), [(name, start) for name in ("rules", "rubrics") for start in chosen.parts(name)]
)
def test_chosen_rules_rubrics_and_rows_are_read_as_the_files_say(name: str, start: int) -> None:
    chosen.check(name, start, drawn_data.outcome)
