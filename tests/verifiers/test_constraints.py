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
    assert (rule.source, rule.name, rule.instruction) == (RULE, "Punctuation: no question mark", "Write.")  # type: ignore[attr-defined]


def test_rules_may_go_to_the_judge_or_nowhere() -> None:
    asked = read_constraints(ROW, rules="judge")
    assert asked.soft == ("Style: be brief", "Punctuation: no question mark", "Tone: be kind")
    assert asked.rules == ()
    dropped = read_constraints(ROW, rules="ignore")
    assert (dropped.rules, len(dropped.soft)) == ((), 2)


@pytest.mark.parametrize(("change", "complaint"), [
    ({"checkers": [*ROW["checkers"][:2], "Tone: be kind"]}, r"checkers\[2\]: must begin with \[rule\] or \[llm\]"),
    ({"checkers": ["[code] x"], "functions": [""]}, r"checkers\[0\]"),
    ({"functions": [RULE]}, "functions: 1 for 3 checkers"),
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
