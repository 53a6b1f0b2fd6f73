from __future__ import annotations

from calipers.backends.embedded.explanation import explain_score
from calipers.backends.embedded.features import FEATURES, Measured


def words_said(parts: dict[str, float], usual: dict[str, float] | None = None, *, siblings: int = 3) -> str:
    counts = {"coverage": (7, 9), "tool_errors": (1, 4), "unresolved": (1, 1), "loops": (2, 8)}
    row = [parts.get(name, 0.0) for name in FEATURES]
    mean = [(usual or {}).get(name, 0.0) for name in FEATURES]
    return explain_score(Measured(tuple(row), counts), row, mean, siblings=siblings)


def test_the_largest_move_is_told_first_and_no_more_than_three() -> None:
    parts = {"coverage": 0.5, "loops": -0.9, "refusal": -0.2, "cut": -0.1}
    assert words_said(parts) == "2 of 8 tool calls repeat an earlier one; covers 7 of 9 task terms; refuses"


def test_what_is_compared_is_told_against_the_groups_mean() -> None:
    assert words_said({"coverage": 0.5}, {"coverage": 0.9}) == "covers only 7 of 9 task terms"
    assert words_said({"extra_turns": -0.5}) == "takes more turns than its siblings"
    assert words_said({"extra_turns": 0.5}) == "takes fewer turns than its siblings"


def test_one_topic_is_told_once() -> None:
    assert words_said({"unresolved": -1, "tool_errors": -0.5, "false_claim": -0.4}) == "tool errors left unresolved: 1"


def test_where_nothing_moved_that_is_said() -> None:
    assert (
        words_said({}) == words_said({"coverage": 0.9}, {"coverage": 0.9}) == "little sets it apart from its siblings"
    )


def test_alone_nothing_is_said_of_siblings() -> None:
    assert words_said({"centrality": 1.0, "coverage": 0.5}, siblings=0) == "covers 7 of 9 task terms"
    assert "sibling" not in words_said({}, siblings=0)


def test_every_feature_has_its_words() -> None:
    assert all(words_said({name: 1.0}) != words_said({}) for name in FEATURES)
