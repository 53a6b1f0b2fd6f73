"""A document that is an example, a draft or somebody else's holds no verdict; its keys or the words around it tell."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.caveats.ownership import (
    check_document_is_own,
    document_denies_itself,
    has_foreign_key,
    values_of_keys,
)
from calipers.replies.compare.choice import extract_choice
from calipers.replies.criteria.verdict import extract_verdict
from calipers.replies.rejected import Rejected
from calipers.replies.scores.scores import extract_scores
from calipers.replies.sentences import Prepared

FRAMES = [
    '{"example": %s}',
    '{"draft": %s}',
    '{"claimed": %s}',
    '{"quoted_from_A": %s}',
    '{"previous_judge": %s}',
    "Example: %s",
    "Format: %s",
    "Another judge gave %s",
]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_document_that_is_not_the_judges_own_is_not_read(frame: str) -> None:
    assert extract_choice(frame % '{"winner": "A"}', ["A", "B"]).choice is None
    assert extract_verdict(frame % '{"criteria_met": true}').met is None
    assert extract_scores(frame % '{"KB": 80, "BC": 30}', ["KB", "BC"], scale=(0, 100)).scores == {}


@pytest.mark.parametrize("flag", ['"valid": false', '"final": false', '"draft": true', '"status": "placeholder"'])
def test_a_document_that_says_it_does_not_hold_is_not_read(flag: str) -> None:
    assert extract_choice(f'{{"winner": "A", {flag}}}', ["A", "B"]).choice is None
    assert extract_verdict(f'{{"criteria_met": true, {flag}}}').met is None
    assert extract_scores(f'{{"scores": {{"KB": 80, "BC": 30}}, {flag}}}', ["KB", "BC"], scale=(0, 100)).scores == {}


@pytest.mark.parametrize("order", [("draft", "final"), ("final", "draft")])
def test_the_final_one_of_two_is_read(order: tuple[str, str]) -> None:
    values = {"draft": '{"winner": "A"}', "final": '{"winner": "B"}'}
    text = "{" + ", ".join(f'"{key}": {values[key]}' for key in order) + "}"
    assert extract_choice(text, ["A", "B"]).choice == "B"


@pytest.mark.parametrize("key", ["criteria_not_met", "not_met", "not met"])
def test_a_denied_key_is_not_the_key(key: str) -> None:
    assert extract_verdict(f'{{"{key}": true}}').met is None


@pytest.mark.parametrize(
    "text",
    [
        '{"winner": "A", "valid": true, "status": "done"}',
        'My verdict:\n{"winner": "A"}',
        '{"winner": "A"}\n\nA answers the question.',
        '{"winner": "A", "reason": "It gives an example."}',
    ],
)
def test_a_document_that_is_given_is_read(text: str) -> None:
    assert extract_choice(text, ["A", "B"]).choice == "A"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.text(max_size=200))
def test_any_document_is_looked_at_without_an_error(document: Any, text: str) -> None:
    assert document_denies_itself(document) in (True, False)
    assert has_foreign_key(document) in (True, False)
    with suppress(Rejected):
        check_document_is_own(Prepared(text, document), {"winner"})


@pytest.mark.parametrize(("levels", "values"), [(0, ["A"]), (1, ["A"]), (3, ["A"]), (4, [])])
def test_values_are_searched_a_few_levels_deep_in_lists_as_in_objects(levels: int, values: list[str]) -> None:
    """A verdict is near the top; deeper down are the candidates' own words."""
    listed: Any = {"choice": "A"}
    keyed: Any = {"choice": "A"}
    for _ in range(levels):
        listed, keyed = [listed], {"reply": keyed}
    assert list(values_of_keys(listed, {"choice"})) == values
    assert list(values_of_keys(keyed, {"choice"})) == values
