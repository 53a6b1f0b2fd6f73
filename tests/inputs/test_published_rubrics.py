"""Rubric data sets as they are published: rows of our own, in each set's own fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import as_group, as_rubric_row
from calipers.rubric.unused_standards import unused_standards
from calipers.trainers.rows import standards_of_row

ASKED = "Which ferry is cheapest?"
ROWS: dict[str, tuple[dict[str, Any], list[tuple[str, float, tuple[str, ...]]], str]] = {
    "ResearchRubrics": (
        {"prompt": ASKED, "sample_id": "s1", "domain": "travel",
         "rubrics": [{"criterion": "Names the night ferry", "axis": "Explicit Criteria", "weight": 4.0},
                     {"criterion": "Invents a ferry", "axis": "Synthesis of Information", "weight": -3.0}]},
        [("Names the night ferry", 4, ("axis:Explicit Criteria",)),
         ("Invents a ferry", -3, ("axis:Synthesis of Information",))],
        "s1",
    ),
    "HealthBench Professional": (
        {"id": "h1", "conversation": {"messages": [{"role": "user", "content": ASKED}]}, "use_case": "u",
         "rubric_items": [{"criterion_text": "Names the night ferry", "points": 5},
                          {"criterion_text": "Invents a ferry", "points": -2}]},
        [("Names the night ferry", 5, ()), ("Invents a ferry", -2, ())],
        "h1",
    ),
    "DR Tulu": (
        {"messages": [{"role": "user", "content": ASKED}], "source": "rl_rag", "dataset": "rl_rag",
         "ground_truth": json.dumps({"query": ASKED, "rubrics": [
             {"title": "Ferry", "description": "Names the night ferry", "weight": 1.0},
             {"title": "Price", "description": "Gives a price", "weight": 0.5}]})},
        [("Names the night ferry", 1, ("title:Ferry",)), ("Gives a price", 0.5, ("title:Price",))],
        "1",
    ),
    "RaR": (
        {"question": ASKED, "reference_answer": "The night ferry.", "question_source": "q", "rubric_count": 1,
         "rubric_list": ["x"],
         "rubric": [{"title": "Ferry", "description": "Essential Criteria: Names the night ferry", "weight": 5}]},
        [("Names the night ferry", 5, ("label:essential", "title:Ferry"))],
        "1",
    ),
    "RubricHub": (
        {"prompt": [{"role": "user", "content": ASKED}], "data_source": "Medical", "ability": "Medical",
         "reward_model": {"style": "rubric", "ground_truth": "", "rubrics": [
             {"criterion": "Names the night ferry", "points": 9,
              "tags": {"function": "", "parameters": "", "verifier": "llm"}}]}},
        [("Names the night ferry", 9, ("verifier:llm",))],
        "1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_read_by_its_data_sets_own_fields(name: str) -> None:
    row, expected, key = ROWS[name]
    found = as_rubric_row(row)
    assert [(one.text, one.points, one.tags) for one in found.rubric.criteria] == expected
    assert found.id == key
    assert found.prompt[-1]["role"] == "user"
    assert ASKED in found.prompt[-1]["content"]


@pytest.mark.parametrize("name", ROWS)
def test_the_same_rubric_is_found_where_responses_stand_beside_it(name: str) -> None:
    row, expected, _ = ROWS[name]
    group = as_group(row | {"responses": ["The night ferry.", "None."]})
    assert [one.text for one in group.rubric.criteria] == [text for text, _, _ in expected]  # type: ignore[union-attr]  # what is tested
    assert not [note for note in unused_standards(group, checklist=True) if "rubric_list" not in note]


@pytest.mark.parametrize(("row", "complaint"), [
    ({"prompt": ASKED, "rubric": '[{"criterion": "Is kind.", "points": 3},]'}, "rubric: its JSON text is not JSON"),
    ({"prompt": ASKED, "rubric": [{"title": "t", "description": "x", "wieght": 5}]}, "did you mean 'weight'?"),
    ({"prompt": ASKED, "rubric": [{"title": "t", "description": "x", "weight": 5, "tgas": ["a"]}]},
     "did you mean 'tags'?"),
    ({"prompt": ASKED, "rubric": [{"title": "t", "description": "Pitfall Criteria: x"}]}, "a label and no weight"),
    ({"prompt": ASKED, "rubric_items": [{"criterion_txt": "x", "points": 3}]}, "criterion"),
    ({"prompt": ASKED, "rubrics": [{"criterion_description": "x", "criterion_weight": "Minor"}]}, "criterion"),
    ({"prompt": ASKED, "requirements": "Be kind."}, "no rubric with criteria is in the fields prompt, requirements"),
    ({"prompt": ASKED, "rubrics": [{"criterion": "x", "TAGS": ["a"]}]}, "did you mean 'tags'?"),
    ({"prompt": ASKED, "rubrics": [{"criterion": "x", "points": 1e308}, {"criterion": "y", "points": -1e308}]},
     "too large for a number"),
])  # fmt: skip
def test_what_a_criterion_lacks_is_named(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        as_rubric_row(row)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", [
    "rubrics", "rubric", "reward_model.rubrics", "extra_info.reward_model.rubrics", "rubric_items", "rubric.criteria",
])  # fmt: skip
def test_points_that_are_no_number_are_an_error_and_never_one_point(value: float, place: str) -> None:
    text = {"rubric_items": "criterion_text"}.get(place, "criterion")
    criteria: Any = [{text: "x", "points": 3}, {text: "y", "points": value}]
    for key in reversed(place.split(".")):
        criteria = {key: criteria}
    for read in (as_rubric_row, lambda row: as_group(row | {"responses": ["a", "b"]}), standards_of_row):
        with pytest.raises(InputError, match=r"criterion 2: points must be a finite number, not -?(nan|inf)"):
            read({"prompt": ASKED, **criteria})


def test_rar_criteria_keep_their_own_tags_and_vetoes() -> None:
    one = {"title": "t", "description": "Essential Criteria: x", "weight": 5, "tags": ["axis:a"], "veto": True}
    (criterion,) = as_rubric_row({"prompt": ASKED, "rubric": [one]}).rubric.criteria
    assert (criterion.tags, criterion.veto) == (("label:essential", "title:t", "axis:a"), True)


def test_numbers_beside_criteria_may_be_missing() -> None:
    row = {
        "prompt": ASKED,
        "rubrics": [{"criterion": "x", "points": 3}],
        "extra_info": {"weight": float("nan"), "samples": [{"weight": float("nan")}]},
    }
    assert as_rubric_row(row).rubric.criteria[0].points == 3


def test_a_checklist_of_another_kind_is_not_taken_for_criteria_and_is_reported() -> None:
    row = {"checklist": ["Is it kind?"], "trajectories": [{"messages": [{"role": "assistant", "content": "Yes."}]}]}
    group = as_group(row)
    assert group.rubric is None
    assert any("'checklist'" in note for note in unused_standards(group, checklist=False))
