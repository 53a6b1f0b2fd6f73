"""Verifiers by name from plain data, and combined: the result is known where the parts decide it."""

import importlib.util
import inspect
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import answered
from calipers.errors import CalipersError, ConfigError
from calipers.registry import VERIFIERS
from calipers.types import Trajectory, Verdict
from calipers.verifiers import verifier_from
from calipers.verifiers.combine import all_of, any_of, not_

EXAMPLES = {
    # name: (arguments, an answer that meets it, one that does not)
    "code_tests": ({"cases": "assert f(1) == 2"}, "def f(x): return x + 1", "def f(x): return x"),
    "exact": ({"expected": ["a", "b"]}, "b", "c"),
    "has_answer": ({}, "yes", "<think>so"),
    "ifeval": ({"instruction_id": "punctuation:no_comma"}, "none", "a, b"),
    "json_schema": ({"schema": {"type": "object"}}, "{}", "[]"),
    "maths": ({"expected": "2"}, "$1+1$", "$3$"),
    "numeric": ({"expected": 5, "tolerance": 0.5}, "5.2", "6"),
    "regex": ({"pattern": "^a", "confined": False}, "ab", "ba"),
    "rule": ({"source": "def check_following(r): return r == 'x'"}, "x", "y"),
    "tool_called": ({"name": "search", "times": 0}, "anything", None),
    "word_count": ({"at_least": 2, "at_most": 3}, "two words", "one"),
    "tool_outcome": ({"name": "search", "contains": "x"}, None, "never called"),
}
NEEDS = {"json_schema": "jsonschema", "maths": "math_verify"}
SANDBOXED = {"code_tests", "maths", "rule"}


@pytest.mark.parametrize("name", sorted(VERIFIERS.ours.keys() - {"all_of", "any_of", "not"}))
def test_every_verifier_can_be_had_by_name_and_gives_both_verdicts(name: str) -> None:
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed: pip install 'calipers[verifiers,maths]'")
    if name in SANDBOXED and sys.platform != "linux":
        pytest.skip("the sandbox confines code on Linux only")
    assert name in EXAMPLES, f"add a row for {name} to EXAMPLES of this file: arguments, a met answer, one that is not"
    arguments, good, bad = EXAMPLES[name]
    check = verifier_from({name: arguments})
    assert list(inspect.signature(check).parameters) == ["trajectory"]
    for answer, met in ((good, True), (bad, False)):
        if answer is not None:
            assert check(answered(answer)).met is met


def test_they_are_put_together_by_name_too() -> None:
    check = verifier_from({"all_of": [{"not": {"any_of": [{"numeric": {"expected": 1}}]}}, "has_answer"]})
    assert [check(answered(text)).met for text in ("a", "1", "")] == [True, False, False]


MISTAKES: list[tuple[Any, str]] = [
    ({"regexp": {}}, "unknown verifier 'regexp'; did you mean regex?"),
    ({"regex": {"patern": "a"}}, "regex: unknown argument 'patern'; did you mean pattern?"),
    ({"regex": {"sandbox": 1}}, "unknown argument 'sandbox'"),
    ({"regex": {}}, "missing 1 required argument: 'pattern'"),
    ({"regex": "a"}, "give its arguments by name"),
    ({"regex": {"pattern": "("}}, "not a regular expression"),
    ({"regex": {"pattern": 5}}, "pattern must be text, not 5"),
    ({"regex": {"pattern": "a", "whole": "yes"}}, "whole must be true or false"),
    ({"all_of": {"a": 1}}, "all_of: give a list"),
    ({"all_of": []}, "at least one verifier"),
    ({"exact": {}, "regex": {}}, "a verifier is a name"),
    (7, "a verifier is a name"),
    ({"code_tests": {"cases": [{"function": "f"}]}}, "cases[0]: give it function"),
    ({"code_tests": {}}, "cases must be a list"),
    ({"numeric": {"expected": True}}, "expected must be a number"),
    ({"word_count": {"at_most": 2.5}}, "at_most must be a whole number"),
    ({"exact": {"expected": ["a", 5]}}, "must be text, or several texts"),
]


def test_what_is_wrong_is_named_with_its_verifier_and_argument() -> None:
    unnamed = []
    for spec, words in MISTAKES:
        with pytest.raises(ConfigError) as raised:
            verifier_from(spec)
        unnamed += [] if words in str(raised.value) else [(spec, str(raised.value))]
    assert unnamed == []
    with pytest.raises(ConfigError, match="'regex' is not a verifier"):
        any_of("regex")  # type: ignore[arg-type]  # what is tested


def test_nesting_is_bounded() -> None:
    spec: Any = "has_answer"
    for _ in range(50):
        spec = {"not": spec}
    with pytest.raises(CalipersError, match="nested more than 20 levels deep"):
        verifier_from(spec)


def says(met: Any, reason: str = "") -> Any:
    def verifier(trajectory: Trajectory) -> Verdict:
        return Verdict(met, reason)

    return verifier


@given(st.lists(st.sampled_from([True, False, None]), min_size=1))
def test_all_of_and_any_of_are_kleenes_and_not_turns_one_into_the_other(values: Any) -> None:
    parts = [says(met) for met in values]
    assert all_of(*parts)(answered("")).met is (False if False in values else None if None in values else True)
    assert any_of(*parts)(answered("")).met is (True if True in values else None if None in values else False)
    assert not_(all_of(*parts))(answered("")).met is any_of(*map(not_, parts))(answered("")).met


def test_the_reason_is_that_of_the_part_that_decides_and_none_runs_after_it() -> None:
    def never(trajectory: Trajectory) -> Verdict:
        raise AssertionError("asked in vain")

    decided: list[tuple[Any, Verdict]] = [
        (all_of(says(True, "fine"), says(None, "unclear"), says(False, "wrong"), never), Verdict(False, "wrong")),
        (all_of(says(None, "first"), says(None, "second")), Verdict(None, "first")),
        (any_of(says(True, "fine"), never), Verdict(True, "fine")),
        (not_(says(False, "no comma")), Verdict(True, "no comma")),
        (not_(says(True, "2 commas")), Verdict(False, "met, and it must not be: 2 commas")),
        (not_(says(None, "crashed")), Verdict(None, "crashed")),
    ]
    assert [check(answered("")) for check, _ in decided] == [verdict for _, verdict in decided]
