"""Keys that by their names hold a standard, and that nothing reads, are told; keys about standards are not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import as_group
from calipers.rubric.dataset_standards import read_standards
from calipers.rubric.unused_standards import unused_standards

CRITERIA = [{"criterion": "Is kind.", "points": 1}]
SAID = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}


def notes(row: dict[str, Any], *, checklist: bool = False) -> list[str]:
    return unused_standards(as_group({"trajectories": [SAID]} | row), checklist=checklist)


TOLD: list[tuple[dict[str, Any], str]] = [
    ({"checklist": ["Is it kind?"]}, "checklist"),
    ({"gradingCriteria": "- kind"}, "gradingCriteria"),
    ({"metadata": {"rubrics": CRITERIA}}, "metadata.rubrics"),
    ({"extra_info": {"criteria": CRITERIA}}, "extra_info.criteria"),
    ({"non_verifiable_reward": {"rubric": "kind"}}, "non_verifiable_reward.rubric"),
    ({"rubircs": CRITERIA}, "rubircs"),
]
SILENT: list[dict[str, Any]] = [
    {"checklist": []}, {"checklist": "  "}, {"criteria": True}, {"verifiers": None}, {"rubric_count": 3},
    {"rubric": {"criteria": CRITERIA}, "answer": "5"},  # criteria say themselves what is to be there
    {"extra_info": {"rubrics": CRITERIA}}, {"extra_info": {"split": "train", "index": 4}},
]  # fmt: skip


def test_a_standard_under_an_unknown_key_is_told_of_and_nothing_else() -> None:
    missed = [place for row, place in TOLD
              if not any(note.startswith(f"not used: {place!r}; ") for note in notes(row))]  # fmt: skip
    assert missed == []
    assert [row for row in SILENT if notes(row)] == []


def test_a_reference_beside_another_is_told_of_by_its_place() -> None:
    told = notes({"reference": "4", "reward_model": {"ground_truth": "5"}, "answer": "6"})
    assert [note.partition(";")[0] for note in told] == [
        "not used: the reference in reference",
        "not used: the reference in reward_model.ground_truth",
    ]
    assert len(notes({"reference": "4", "reward_model": {"ground_truth": "4"}})) == 1


def test_rules_that_only_a_hybrid_runs_are_told_of() -> None:
    instruction = {"instruction_id": ["punctuation:no_comma"], "kwargs": [None]}
    rows: list[tuple[dict[str, Any], str]] = [
        ({"reward_model": {"ground_truth": [instruction]}}, "the rules in reward_model.ground_truth"),
        ({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}, "the rules in instruction_id_list"),
        ({"constraints": [{"no_comma": True}]}, "the group's 'constraints'"),
    ]
    for row, place in rows:
        for checklist in (True, False):
            told = notes(row, checklist=checklist)
            assert any(note.startswith(f"not used: {place}; calipers.Hybrid") for note in told), (place, told)


def test_copies_of_a_rubric_in_words_may_differ_in_the_white_space_around_them() -> None:
    assert read_standards({"rubric": "Be kind.\n", "extra_info": {"rubric": " Be kind."}}).rubric == "Be kind.\n"
    with pytest.raises(InputError, match=r"extra_info\.rubric"):
        read_standards({"rubric": "Be kind.", "extra_info": {"rubric": "Be brief."}})


def test_a_trajectorys_own_standards_are_told_of() -> None:
    said = {**SAID, "checklist": ["kind?"], "ground_truth": "5", "answer": "x"}
    told = notes({"trajectories": [said]}, checklist=True)
    assert [note.partition(" of a")[0] for note in told] == ["not used: 'checklist'", "not used: 'ground_truth'"]


def test_instructions_as_a_list_in_the_ground_truth_are_rules_and_any_other_list_is_a_reference() -> None:
    listed = [{"instruction_id": ["punctuation:no_comma", "keywords:existence"], "kwargs": [None, {"keywords": ["a"]}]}]
    for truth in (listed, json.dumps(listed), repr(listed)):
        found = read_standards({"reward_model": {"ground_truth": truth}})
        assert found.reference is None
        assert found.rules is not None
        assert (found.rules.place, found.rules.value) == ("reward_model.ground_truth", {
            "instruction_id_list": ["punctuation:no_comma", "keywords:existence"], "kwargs": [{}, {"keywords": ["a"]}],
        })  # fmt: skip
    others: list[Any] = ["[1, 2]", "[instruction_id", "['instruction_id']", "[" * 90_000 + "instruction_id", [5]]
    for truth in others:
        found = read_standards({"ground_truth": truth})
        assert (found.rules, found.reference is None) == (None, False)
