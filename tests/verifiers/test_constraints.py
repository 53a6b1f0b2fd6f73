"""Constraints of rows, groups and rules files: rules for code, soft constraints for a judge."""

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.types import Trajectory, TrajectoryGroup
from calipers.verifiers import read_constraints
from calipers.verifiers.constraints import RuleFile, own_constraints, read_rules

RULE = "def check_following(instruction, response): return '?' not in response"
ROW = {"checkers": ["[llm] Style: be brief", "[rule] Punctuation: no question mark", " [llm]  Tone: be kind"],
       "functions": ["from llm_call import x\n", RULE, ""]}  # fmt: skip
NAMED = {"rules": [{"word_count": {"at_most": 3}}], "soft": ["Is kind."]}


def group(constraints: Any = None) -> TrajectoryGroup:
    extra = {} if constraints is None else {"constraints": constraints}
    context = ({"role": "system", "content": "s"}, {"role": "user", "content": "Greet me."})
    return TrajectoryGroup("g", (), context, extra=extra)


# --- rows of VerInstruct and VerIF


@pytest.mark.parametrize("given", [ROW, json.dumps(ROW)])
def test_a_row_is_split_by_its_tags(given: Any) -> None:
    found = read_constraints(given, instruction="Write.")
    assert found.soft == ("Style: be brief", "Tone: be kind")
    rule: Any = found.rules[0]
    assert (rule.source, rule.name, rule.instruction) == (RULE, "Punctuation: no question mark", "Write.")
    assert rule.truthy is True  # as in VerIF


@pytest.mark.parametrize("rules", ["code", "judge", "ignore"])
@pytest.mark.parametrize("checker", ["[code] Other: x", "Tone: be kind", "[Rule] Case: y", "", "x [rule] y"])
def test_a_checker_of_another_tag_is_skipped_and_named_and_the_rest_is_kept(checker: str, rules: Any) -> None:
    row = {"checkers": [ROW["checkers"][0], checker, *ROW["checkers"][1:]], "functions": ["", "x = 1", RULE, ""]}
    found, whole = read_constraints(row, rules=rules), read_constraints(ROW, rules=rules)
    assert (found.rules, found.soft, whole.skipped) == (whole.rules, whole.soft, ())
    (skipped,) = found.skipped
    assert skipped.startswith("checkers[1] is skipped")
    assert repr(checker[:60]) in skipped


def test_rules_may_go_to_the_judge_or_nowhere() -> None:
    asked = read_constraints(ROW, rules="judge")
    assert asked.soft == ("Style: be brief", "Punctuation: no question mark", "Tone: be kind")
    dropped = own_constraints(group(ROW), rules="ignore")
    assert dropped is not None
    assert (asked.rules, dropped.rules, len(dropped.soft)) == ((), (), 2)
    with pytest.raises(InputError, match="no wording"):
        own_constraints(group({"rules": ["has_answer"]}), rules="judge")


@pytest.mark.parametrize(("given", "complaint"), [
    (ROW | {"functions": [RULE]}, "functions: 1 given for 3 checkers"),
    (ROW | {"functions": ["", "x = 1", ""]}, r"functions\[1\]: a rule's source"),
    (ROW | {"functions": None}, "functions: is missing"),
    (ROW | {"checkers": "no list"}, "checkers: must be a list"),
    ("{", "ground_truth"), ("[]", "ground_truth"), (7, "ground_truth"),
])  # fmt: skip
def test_what_is_wrong_with_a_row_is_named_with_its_place(given: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_constraints(given)


# --- groups


def test_a_groups_own_constraints_come_in_two_forms() -> None:
    verif, named = own_constraints(group(ROW)), own_constraints(group(NAMED))
    assert own_constraints(group(json.dumps(ROW))) == verif
    assert verif is not None
    assert (len(verif.rules), verif.soft, verif.judged) == (1, ("Style: be brief", "Tone: be kind"), False)
    assert verif.rules[0].instruction == "Greet me."  # type: ignore[attr-defined]
    assert named is not None
    assert (len(named.rules), named.soft) == (1, ("Is kind.",))
    assert own_constraints(group()) is None


@pytest.mark.parametrize(("constraints", "words"), [
    ({}, "must be an object"), ([1], "must be an object"), ({"rule": []}, "must be an object"), ("{", "constraints: "),
    (ROW | {"functions": ["", "", ""]}, r"constraints: functions\[1\]: a rule's source must be text"),
    ({"rules": ["regx"]}, r"rules\[0\]: unknown verifier"),
])  # fmt: skip
def test_broken_constraints_of_a_group_name_the_field(constraints: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        own_constraints(group(constraints))


# --- rules files

FILE = """\
combine = "average"
code = "all"
floor = 0.1
gates = ["has_answer"]
rules = [{ word_count = { at_most = 3 } }, { not = { regex = { pattern = "!" } } }]
soft = ["Is wise."]
"""


def written(folder: Path, content: bytes) -> Path:
    (folder / "rules.toml").write_bytes(content)
    return folder / "rules.toml"


def test_a_file_is_read_and_goes_together_with_a_groups_own(tmp_path: Path) -> None:
    rules = read_rules(written(tmp_path, FILE.encode()))
    assert (len(rules.rules), len(rules.gates), rules.soft, rules.constraints) == (2, 1, ("Is wise.",), "code")
    assert rules.settings == {"combine": "average", "code": "all", "floor": 0.1}
    long = Trajectory("a", ({"role": "assistant", "content": "one two three four"},))
    assert [check(long).met for check in rules.rules] == [False, True]
    both = rules.constraints_of(group(NAMED))
    assert (len(both.rules), both.soft, both.judged) == (3, ("Is wise.", "Is kind."), False)
    assert RuleFile().constraints_of(group()).judged is True


def test_what_is_wrong_with_a_file_names_it_and_the_field(tmp_path: Path) -> None:
    wrong = {
        b"rules = [{ regx = {} }]": r"rules\[0\]: unknown verifier 'regx'",
        b"gates = ['has_answer', 3]": r"gates\[1\]: a verifier is a name",
        b"rules = 'regex'": "rules: give a list",
        b"soft = ['a', 3]": r"soft\[1\]: must be text",
        b"combin = 'min'": "unknown field 'combin'; did you mean 'combine'",
        b"constraints = 'run'": "code, judge or ignore",
        b"rules = [": "is not TOML",
        b"soft = ['\xe9']": "not UTF-8",
    }
    for content, words in wrong.items():
        path = written(tmp_path, content)
        with pytest.raises(InputError, match=words) as raised:
            read_rules(path)
        assert str(raised.value).startswith(f"{path}: ")
    with pytest.raises(InputError, match=r"none\.toml: cannot be read: No such file"):
        read_rules(tmp_path / "none.toml")
