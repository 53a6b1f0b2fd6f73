"""Rubric data sets as they are published: rows of our own, in each set's own fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import as_group, as_rubric_row
from calipers.rubric.unused_standards import unused_standards
from calipers.trainers.rollouts.dataset_rows import standards_of_row

ASKED = "Which ferry is cheapest?"
BANDS = {"1-2": "names none", "3-4": "vague", "5-6": "one price", "7-8": "prices", "9-10": "prices and dates"}
PRBENCH = {
    "task": "t1", "turns": 2, "field": "Finance", "topic": "Fares", "expert": "e", "scratchpad": "",
    "prompt_0": "Which ferries go?", "response_0": "Two.", "reference_texts_0": ["Timetable"],
    "prompt_1": ASKED, "response_1": None,
    "rubric": [
        {"id": "k1", "title": "Names the night ferry", "annotations": {
            "weight_class": "critically important", "critically_important_weight": 9, "important_weight": None,
            "criteria_category": "Accuracy", "field_for_category": "Fares"}},
        {"id": "k2", "title": "Invents a ferry", "annotations": {
            "weight_class": "detrimental", "detrimental_weight": -4, "criteria_category": None}},
    ],
}  # fmt: skip
ROWS: dict[str, tuple[dict[str, Any], list[tuple[str, float, tuple[str, ...]]], str]] = {
    "ResearchRubrics": (
        {"prompt": ASKED, "sample_id": "s1", "domain": "travel",
         "rubrics": [{"criterion": "Names the night ferry", "axis": "Explicit Criteria", "weight": 4.0},
                     {"criterion": "Invents a ferry", "axis": "Synthesis of Information", "weight": -3.0}]},
        [("Names the night ferry", 4, ("axis:Explicit Criteria",)),
         ("Invents a ferry", -3, ("axis:Synthesis of Information",))],
        "s1",
    ),
    "PRBench": (
        PRBENCH,
        [("Names the night ferry", 9, ("category:Accuracy", "field:Fares")), ("Invents a ferry", -4, ())],
        "1",
    ),
    "ProfBench": (
        {"task_id": "Fin-0", "domain": "Finance MBA", "prompt": ASKED, "filepaths": [],
         "rubrics": [{"criterion_description": "Names the night ferry", "criterion_weight": "Critical",
                      "criterion_type": ["Reasoning", "Style"]},
                     {"criterion_description": "Gives a price", "criterion_weight": "Minor", "criterion_type": []}]},
        [("Names the night ferry", 4, ("type:Reasoning", "type:Style")), ("Gives a price", 2, ())],
        "Fin-0",
    ),
    "HealthBench Professional": (
        {"id": "h1", "conversation": {"messages": [{"role": "user", "content": ASKED}]}, "use_case": "u",
         "rubric_items": [{"criterion_text": "Names the night ferry", "points": 5},
                          {"criterion_text": "Invents a ferry", "points": -2}]},
        [("Names the night ferry", 5, ()), ("Invents a ferry", -2, ())],
        "h1",
    ),
    "InFoBench": (
        {"id": "domain_1", "instruction": "Answer in one line.", "input": ASKED, "category": "c", "subset": "Easy_set",
         "decomposed_questions": ["Is it one line?", "Does it name a ferry?"]},
        [("Is it one line?", 1, ()), ("Does it name a ferry?", 1, ())],
        "domain_1",
    ),
    "RLCF": (
        {"prompt": ASKED, "chosen": "a", "rejected": "b",
         "requirements": "1) Is a ferry named? (importance: 100/100)\n2) Is it kind? (importance: 40/100)"},
        [("Is a ferry named?", 100, ()), ("Is it kind?", 40, ())],
        "1",
    ),
    "OpenRubrics": (
        {"instruction": ASKED, "source": "mine", "rubric": "1. Names a ferry. [Hard Rule]\n2. Is clear. [Principle]"},
        [("Names a ferry.", 1, ("kind:hard rule",)), ("Is clear.", 1, ("kind:principle",))],
        "1",
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


@pytest.mark.parametrize("name", sorted(set(ROWS) - {"OpenRubrics"}))
def test_the_same_rubric_is_found_where_responses_stand_beside_it(name: str) -> None:
    """OpenRubrics' text stays text there: a judge that compares freely is shown it as it is."""
    row, expected, _ = ROWS[name]
    group = as_group(row | {"responses": ["The night ferry.", "None."]})
    assert [one.text for one in group.rubric.criteria] == [text for text, _, _ in expected]  # type: ignore[union-attr]  # what is tested
    assert not [note for note in unused_standards(group, checklist=True) if "rubric_list" not in note]


def test_writingbench_is_scored_on_its_own_scale_from_1_to_10() -> None:
    one = {"name": "Price", "criteria_description": "States prices.", **BANDS}
    row = {"index": 7, "domain1": "d", "domain2": "e", "lang": "en", "query": ASKED, "checklist": [one]}
    found = as_rubric_row(row)
    (criterion,) = found.rubric.criteria
    assert (found.id, found.prompt[0]["content"]) == ("7", ASKED)
    assert criterion.levels == {str(number): number / 10 for number in range(1, 11)}
    assert criterion.text.startswith("Price: States prices.\n1-2: names none\n")


def test_prbench_shows_reference_texts_before_their_prompt() -> None:
    prompt = as_rubric_row(PRBENCH).prompt
    assert [one["role"] for one in prompt] == ["user", "assistant", "user"]
    assert prompt[0]["content"] == "Reference text 1:\nTimetable\n\nWhich ferries go?"


def test_rubrichubs_rule_named_by_an_instruction_id_is_that_instruction() -> None:
    tags = {"verifier": "rule", "function": "CommaChecker", "parameters": "{}"}
    ruled = {"criterion": "punctuation:no_comma", "points": 10, "tags": tags}
    (criterion,) = as_rubric_row({"prompt": ASKED, "reward_model": {"rubrics": [ruled]}}).rubric.criteria
    assert criterion.rule == {"ifeval": {"instruction_id": "punctuation:no_comma", "kwargs": {}}}


@pytest.mark.parametrize(("row", "complaint"), [
    ({"prompt": ASKED, "rubric": [{"title": "x", "annotations": {}}]}, "criterion 1: PRBench's annotations need"),
    ({"prompt": ASKED, "rubric": [{"title": "x", "annotations": {"weight_class": "important"}}]},
     "'important', but its annotations have no 'important_weight'"),
    ({"prompt": ASKED, "rubrics": [{"criterion_description": "x", "criterion_weight": "Huge"}]},
     "criterion_weight 'Huge' is unknown; known: Critical"),
    ({"prompt": ASKED, "rubrics": [{"criterion": "x", "axis": "a", "weight": 1}, {"criterion": "y"}]},
     "criterion 2: it lacks axis, weight, which criteria of ResearchRubrics have"),
    ({"prompt": ASKED, "requirements": "Be kind."}, "no rubric with criteria is in the fields prompt, requirements"),
    ({"prompt": ASKED, "requirements": "1) Is it kind? (importance: 9/100)\n\n2) Is it so? (importance 40/100)"},
     "requirements: line 3 is not of the form"),
    ({"prompt": ASKED, "requirements": "1) Is it kind? (importance: 900/100)"}, "an importance is at most 100"),
    ({"prompt": ASKED, "rubric": "1. Is kind. [Hard Rule]\n2. Is clear. [Principal]"}, "line 2 is not of the form"),
    ({"prompt": ASKED, "rubric": '[{"criterion": "Is kind.", "points": 3},]'}, "rubric: its JSON text is not JSON"),
    ({"prompt": ASKED, "decomposed_questions": ["Is it kind?", None]}, "question 2 must be text"),
    ({"prompt": ASKED, "decomposed_questions": ["Is it kind?", " "]}, "question 2 must be text"),
    ({"prompt": ASKED, "rubric_items": [{"criterion_txt": "x", "points": 3}]},
     "criterion 1: it lacks criterion_text, .*; is 'criterion_txt' meant for 'criterion_text'?"),
    ({"prompt": ASKED, "rubric_items": ["x", {"criterion_text": "x", "points": 3}]}, "criterion 1: it lacks criterion"),
    ({"prompt": ASKED, "rubrics": [{"criterion": "x", "axis": "a", "wieght": 3}]}, "is 'wieght' meant for 'weight'?"),
    ({"prompt": ASKED, "rubric": [{"title": "t", "description": "x", "wieght": 5}]}, "did you mean 'weight'?"),
    ({"prompt": ASKED, "rubric": [{"title": "t", "description": "x", "weight": 5, "tgas": ["a"]}]},
     "did you mean 'tags'?"),
    ({"prompt": ASKED, "rubric": [{"title": "t", "description": "Pitfall Criteria: x"}]}, "a label and no weight"),
    ({"prompt": ASKED, "rubrics": [{"criterion": "x", "TAGS": ["a"]}]}, "did you mean 'tags'?"),
    ({"prompt": ASKED, "rubrics": [{"criterion": "x", "points": 1e308}, {"criterion": "y", "points": -1e308}]},
     "too large for a number"),
])  # fmt: skip
def test_what_a_form_lacks_is_named(row: dict[str, Any], complaint: str) -> None:
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
