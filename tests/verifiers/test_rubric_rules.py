"""Rules of criteria: any verifier by name, RuscaRL's two functions, and what is wrong with one."""

from importlib import util
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.rubric import as_rubric
from calipers.types import Criterion, Trajectory
from calipers.verifiers.rubric_rules import criterion_verifier, require_rules


def verdict(rule: Any, answer: str) -> bool | None:
    (criterion,) = as_rubric([{"text": "x", "rule": rule}]).criteria
    check = criterion_verifier(criterion)
    assert check is not None
    return check(Trajectory("a", ({"role": "assistant", "content": answer},))).met


@pytest.mark.parametrize(("rule", "good", "bad"), [
    ({"regex": {"pattern": "^Yes", "confined": False}}, "Yes.", "No."),
    ({"ifeval": {"instruction_id": "punctuation:no_comma"}}, "one two", "one, two"),
    ({"ifeval": {"instruction_id": "length_constraints:number_words",
                 "kwargs": {"num_words": 3, "relation": "at least"}}}, "a b c", "a b"),
    ({"all_of": [{"numeric": {"expected": 42}}, {"not": {"exact": {"expected": "42"}}}]}, "It is 42", "42"),
    ({"function": "word_count_range", "parameters": {"min": 2, "max": 3}}, "a b", "a"),
    ({"function": "word_count_range", "parameters": {"max_words": 1}}, "a", "a b"),
    ({"function": "word_count_range", "parameters": {"min_count": "2", "max_count": 3.0, "min": float("nan")}}, "a b",
     "a"),
])  # fmt: skip
def test_a_rule_is_a_verifier(rule: Any, good: str, bad: str) -> None:
    assert (verdict(rule, good), verdict(rule, bad)) == (True, False)


@pytest.mark.skipif(util.find_spec("math_verify") is None, reason="math-verify is not installed")
def test_ruscarls_maths_is_the_expected_answer() -> None:
    rule = {"function": "math_verify", "parameters": {"answer": 72.0}}
    assert (verdict(rule, "#### 72"), verdict(rule, "#### 27")) == (True, False)


def test_a_rule_that_cannot_be_run_names_its_criterion() -> None:
    words_of: list[tuple[Any, str]] = [
        ({"regx": {"pattern": "a"}}, "did you mean regex?"),
        ({"regex": {"pattern": "("}}, "not a regular expression"),
        ({"ifeval": {"instruction_id": "punctuation:no_coma"}}, "did you mean punctuation:no_comma"),
        ({"function": "word_count_range", "parameters": {"least": 3}}, "'least' is unknown or repeats a bound"),
        (
            {"function": "word_count_range", "parameters": {"min": 3, "min_words": 3}},
            "'min_words' is unknown or repeats",
        ),
        ({"function": "math_verify", "parameters": {}}, "parameters must be the answer alone"),
        ({"exact": {"expected": {1, 2}}}, "not JSON serializable"),
    ]
    for rule, words in words_of:
        with pytest.raises(ConfigError, match="criterion 'c1': rule: ") as raised:
            require_rules(as_rubric([{"text": "x", "rule": rule}]))
        assert words in str(raised.value)


def test_a_rule_of_another_shape_is_no_rubric() -> None:
    shapes: list[tuple[Any, str]] = [
        ({"exact": {}, "regex": {}}, "rule must be one check"), (7, "rule must be an object"),
        ({"function": "exec", "parameters": {}}, "function 'exec' is unknown"),
        ({"function": "math_verify", "parameters": [1]}, "parameters must be an object"),
    ]  # fmt: skip
    for rule, words in shapes:
        with pytest.raises(ConfigError, match=words):
            as_rubric([{"text": "x", "rule": rule}])


def test_the_same_rule_is_built_once_and_none_is_none() -> None:
    rule = {"exact": {"expected": "yes"}}
    assert criterion_verifier(Criterion("a", "x", rule=rule)) is criterion_verifier(
        Criterion("b", "y", rule=dict(rule))
    )
    assert criterion_verifier(Criterion("a", "x")) is None
