"""VerInstruct's rows: rules for code, soft constraints for a judge."""

import json
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.verifiers import read_constraints

RULE = "def check_following(instruction, response): return '?' not in response"
ROW = {"checkers": ["[llm] Style: be brief", "[rule] Punctuation: no question mark", " [llm]  Tone: be kind"],
       "functions": ["from llm_call import x\n", RULE, ""]}  # fmt: skip


@pytest.mark.parametrize("given", [ROW, json.dumps(ROW)])
def test_a_row_is_split_by_its_tags(given: Any) -> None:
    found = read_constraints(given, instruction="Write.")
    assert found.soft == ("Style: be brief", "Tone: be kind")
    (rule,) = found.rules
    assert rule.truthy is True  # type: ignore[attr-defined]  # as in VerIF
    assert (rule.source, rule.name, rule.instruction) == (RULE, "Punctuation: no question mark", "Write.")  # type: ignore[attr-defined]


@pytest.mark.parametrize("rules", ["code", "judge", "ignore"])
@pytest.mark.parametrize("checker", ["[code] Other: x", "Tone: be kind", "[Rule] Case: y", "[]", "", "x [rule] y"])
def test_a_checker_of_another_tag_is_skipped_and_named_and_the_rest_is_kept(checker: str, rules: Any) -> None:
    row = {"checkers": [ROW["checkers"][0], checker, *ROW["checkers"][1:]], "functions": ["", "x = 1", RULE, ""]}
    found, whole = read_constraints(row, rules=rules), read_constraints(ROW, rules=rules)
    assert (found.rules, found.soft) == (whole.rules, whole.soft)
    (skipped,) = found.skipped
    assert skipped.startswith("checkers[1] is skipped")
    assert repr(checker[:60]) in skipped
    assert whole.skipped == ()


def test_rules_may_go_to_the_judge_or_nowhere() -> None:
    asked = read_constraints(ROW, rules="judge")
    assert asked.soft == ("Style: be brief", "Punctuation: no question mark", "Tone: be kind")
    assert asked.rules == ()
    dropped = read_constraints(ROW, rules="ignore")
    assert (dropped.rules, len(dropped.soft)) == ((), 2)


@pytest.mark.parametrize(("change", "complaint"), [
    ({"functions": [RULE]}, "functions: 1 given for 3 checkers"),
    ({"functions": ["", "x = 1", ""]}, r"functions\[1\]: a rule's source"),
    ({"functions": None}, "functions: is missing"),
    ({"checkers": "no list"}, "checkers: must be a list"),
])  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(change: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_constraints(ROW | change)


@pytest.mark.parametrize("given", ["{", "[]", 7])
def test_what_is_no_row_is_said(given: Any) -> None:
    with pytest.raises(InputError, match="ground_truth"):
        read_constraints(given)
