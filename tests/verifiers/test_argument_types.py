"""Arguments from data held against the types that verifiers state."""

from typing import Any, get_type_hints

import pytest

from calipers.errors import ConfigError
from calipers.registry import VERIFIERS
from calipers.verifiers import verifier_from


@pytest.mark.parametrize("name", sorted(VERIFIERS.ours))
def test_every_verifiers_types_can_be_looked_up(name: str) -> None:
    assert get_type_hints(VERIFIERS.find(name))


@pytest.mark.parametrize(("spec", "complaint"), [
    ({"citation": {"at_least": "two"}}, "citation: at_least must be a whole number, not 'two'"),
    ({"tool_called": {"name": 5}}, "tool_called: name must be text, not 5"),
    ({"tool_outcome": {"name": "a", "contains": 3}}, "tool_outcome: contains must be text, not 3"),
    ({"tool_outcome": {"name": "a", "contains": "b", "which": "first"}},
     "tool_outcome: which must be 'last' or 'any', not 'first'"),
    ({"numeric": {"expected": 3, "after": 5}}, "numeric: after must be text, not 5"),
    ({"numeric": {"expected": True}}, "numeric: expected must be a number, not True"),
    ({"regex": {"pattern": 5}}, "regex: pattern must be text, not 5"),
    ({"regex": {"pattern": "a", "whole": "yes"}}, "regex: whole must be true or false, not 'yes'"),
    ({"word_count": {"at_most": 2.5}}, "word_count: at_most must be a whole number, not 2.5"),
    ({"ifeval": {"instruction_id": 5}}, "ifeval: instruction_id must be text, not 5"),
    ({"exact": {"expected": 5}}, "expected=5: it must be text, or several texts"),
    ({"exact": {"expected": ["a", 5]}}, "it must be text, or several texts"),
    ({"rule": {"source": ["def"]}}, "rule: source must be text"),
])  # fmt: skip
def test_a_wrong_type_names_verifier_and_argument(spec: Any, complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        verifier_from(spec)
    assert complaint in str(raised.value)


@pytest.mark.parametrize("spec", [
    {"numeric": {"expected": 3}}, {"numeric": {"expected": 3.5, "after": None}}, {"word_count": {"at_most": 3}},
    {"exact": {"expected": "a"}}, {"exact": {"expected": ["a", "b"]}},
    {"ifeval": {"instruction_id": "punctuation:no_comma", "kwargs": None}},
])  # fmt: skip
def test_what_is_stated_is_taken(spec: Any) -> None:
    assert callable(verifier_from(spec))
