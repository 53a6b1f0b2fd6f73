"""What a trainer's rows ask for is used, or a warning names it."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.trainers.rollouts.dataset_rows import (
    read_label_of_row,
    rubric_of_row,
    standards_of_row,
    warn_unused_columns,
)
from calipers.trainers.trl.rows import rubric_from_column as column_standards
from calipers.trainers.verl.rows import group_fields_of_row
from calipers.types import Rubric
from dataset_rows import ASKED, ROWS, RULES, SCORES, VERIF

CRITERIA = [{"criterion": "names Mars", "points": 1}]


@pytest.mark.parametrize("name", SCORES)
def test_every_form_of_row_is_read_as_verl_hands_it_over(name: str) -> None:
    row = {**ROWS[name], "uid": "u", "raw_prompt": ASKED}
    if name in RULES:
        with pytest.warns(
            UserWarning, match=r"the rules in .* of the data set's rows: not used; \+calipers.recipe=verif"
        ):
            assert group_fields_of_row(row, rubric="default", reference=True)["rubric"] is None
        return
    group = group_fields_of_row(row, rubric="default", reference=False)
    assert isinstance(group["rubric"], Rubric)
    assert group["rubric"].criteria[0].text == "names Mars"


def test_a_reference_is_no_reference_where_it_holds_rules() -> None:
    assert standards_of_row(ROWS["verif"]).reference is None
    reference = standards_of_row(ROWS["a plain answer"]).reference
    assert reference is not None
    assert (reference.place, reference.value) == ("reward_model.ground_truth", "Mars")


def test_a_rubric_of_the_row_goes_before_the_adapters_and_rules_are_warned_of() -> None:
    assert rubric_of_row({"id": 1}, "default") == "default"
    assert rubric_of_row({"rubric": "Be kind."}, "default") == "Be kind."
    with pytest.warns(
        UserWarning, match="the rules in checkers of the data set's rows: not used; this adapter only asks a judge"
    ):
        assert rubric_of_row({"rubric": "Be kind.", **VERIF}, "default") == "Be kind."
    with pytest.raises(InputError, match="differ"):
        rubric_of_row({"rubric": "Be kind.", "reward_model": {"rubrics": CRITERIA}}, None)


@pytest.mark.parametrize(("columns", "unused"), [
    ({"rubrics": [CRITERIA]}, "rubrics"), ({"reward_model": [{"rubrics": CRITERIA}]}, "reward_model"),
    ({"checkers": [VERIF["checkers"]]}, "checkers"),
    ({"instruction_id_list": [["punctuation:no_comma"]]}, "instruction_id_list"),
    ({"constraints": [{"soft": ["a"]}]}, "constraints"),
    ({"reward_model": [{"ground_truth": json.dumps(VERIF)}]}, "reward_model"),
    ({"rubric": ["Be kind."]}, None), ({"reward_model": [{"ground_truth": "42"}]}, None), ({"rubrics": [None]}, None),
    ({"extra_info": [{"index": 3}], "answer": ["42"]}, None),
])  # fmt: skip
def test_columns_that_nothing_looks_at_are_warned_of(columns: dict[str, list[Any]], unused: str | None) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_unused_columns(columns, used=("rubric", None))
    assert [f"the column {unused!r}" in str(one.message) for one in told] == ([True] if unused else [])


def test_a_column_may_hold_criteria_in_any_form() -> None:
    for value in (CRITERIA, json.dumps(CRITERIA), {"rubrics": CRITERIA}, {"criteria": [{"text": "names Mars"}]}):
        rubric = column_standards(value, "row 1")
        assert isinstance(rubric, Rubric)
        assert rubric.criteria[0].text == "names Mars"
    assert column_standards("[Important] be kind", "row 1") == "[Important] be kind"
    assert column_standards("", "row 1") is None


@pytest.mark.parametrize("row", [None, "text", 5, [], {}, {"rubric": None}, {"difficulty": "hard"}])
def test_a_row_that_asks_for_nothing_is_graded_by_the_runs_rubric_without_a_word(row: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rubric_of_row(row, "default") == "default"


@pytest.mark.parametrize(
    ("label", "reference"), [("42", "42"), (None, None), ("", None), ("{not json", "{not json"), (0, 0)]
)
def test_a_label_that_is_an_answer_is_the_reference(label: Any, reference: Any) -> None:
    assert read_label_of_row(label, "default") == ("default", reference)


def test_a_label_with_criteria_is_the_rubric_and_no_reference() -> None:
    rubric, reference = read_label_of_row(json.dumps({"rubrics": CRITERIA}), "default")
    assert isinstance(rubric, Rubric)
    assert reference is None
