"""Rules for a run from a file, and what groups bring along."""

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.types import Trajectory, TrajectoryGroup
from calipers.verifiers.constraints import RuleFile, own_constraints, read_rules

FILE = """\
combine = "average"
code = "all"
floor = 0.1
gates = ["has_answer"]
rules = [{ word_count = { at_most = 3 } }, { not = { regex = { pattern = "!" } } }]
soft = ["Is kind."]
"""
VERIF = {
    "checkers": ["[llm] Tone: be kind", "[rule] Punctuation: no exclamation mark"],
    "functions": ["", "def check_following(instruction, response):\n    return '!' not in response"],
}


def write(folder: Path, text: str, name: str = "rules.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def group(constraints: Any = None) -> TrajectoryGroup:
    extra = {} if constraints is None else {"constraints": constraints}
    context = ({"role": "system", "content": "s"}, {"role": "user", "content": "Greet me."})
    return TrajectoryGroup("g", (), context, extra=extra)


def test_a_file_is_read(tmp_path: Path) -> None:
    rules = read_rules(write(tmp_path, FILE))
    assert (len(rules.rules), len(rules.gates), rules.soft, rules.constraints) == (2, 1, ("Is kind.",), "code")
    assert rules.settings == {"combine": "average", "code": "all", "floor": 0.1}
    long = Trajectory("a", ({"role": "assistant", "content": "one two three four"},))
    assert [check(long).met for check in rules.rules] == [False, True]


WRONG = {
    "rules = [{ regx = {} }]": r"rules\[0\]: unknown verifier 'regx'",
    "gates = ['has_answer', 3]": r"gates\[1\]: a verifier is a name",
    "rules = 'regex'": "rules: give a list",
    "soft = ['a', 3]": r"soft\[1\]: must be text",
    "combin = 'min'": "unknown field 'combin'; did you mean 'combine'",
    "constraints = 'run'": "code, judge or ignore",
    "rules = [": "is not TOML",
}


def test_what_is_wrong_with_a_file_names_it_and_the_field(tmp_path: Path) -> None:
    for text, words in WRONG.items():
        path = write(tmp_path, text)
        with pytest.raises(InputError, match=words) as raised:
            read_rules(path)
        assert str(raised.value).startswith(f"{path}: ")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_rules(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"soft = ['\xe9']")
    with pytest.raises(InputError, match="not UTF-8"):
        read_rules(tmp_path / "latin.toml")


def test_a_groups_own_constraints_come_in_two_forms() -> None:
    verif = own_constraints(group(VERIF))
    assert verif is not None
    assert (len(verif.rules), verif.soft, verif.judged) == (1, ("Tone: be kind",), False)
    assert verif.rules[0].instruction == "Greet me."  # type: ignore[attr-defined]
    assert own_constraints(group(json.dumps(VERIF))) == verif
    named = own_constraints(group({"rules": [{"word_count": {"at_most": 3}}], "soft": ["Is kind."]}))
    assert named is not None
    assert (len(named.rules), named.soft) == (1, ("Is kind.",))
    assert own_constraints(group()) is None


def test_rules_of_groups_may_be_worded_or_dropped() -> None:
    worded, dropped = own_constraints(group(VERIF), rules="judge"), own_constraints(group(VERIF), rules="ignore")
    assert worded is not None
    assert dropped is not None
    assert (len(worded.soft), len(dropped.soft), worded.rules, dropped.rules) == (2, 1, (), ())
    with pytest.raises(InputError, match="no wording"):
        own_constraints(group({"rules": ["has_answer"]}), rules="judge")


def test_broken_constraints_name_the_field() -> None:
    wrong: list[tuple[Any, str]] = [
        ({}, "must be an object"), ([1], "must be an object"), ({"rule": []}, "must be an object"),
        ("{", "constraints: "),
        ({"checkers": ["[rule] a"], "functions": [""]}, r"constraints: functions\[0\]: a rule's source must be text"),
        ({"checkers": ["[llm] a"], "functions": []}, "functions: 0 given for 1 checkers"),
        ({"rules": ["regx"]}, r"rules\[0\]: unknown verifier"),
    ]  # fmt: skip
    for constraints, words in wrong:
        with pytest.raises(InputError, match=words):
            own_constraints(group(constraints))


def test_the_files_and_the_groups_go_together(tmp_path: Path) -> None:
    rules = read_rules(write(tmp_path, FILE))
    both = rules.constraints_of(group(VERIF))
    assert (len(both.rules), both.soft, both.judged) == (3, ("Is kind.", "Tone: be kind"), False)
    assert RuleFile().constraints_of(group()).judged is True
