"""Tables with several columns of scores: the column that counts."""

from __future__ import annotations

import pytest

from calipers.replies.scores.scores import extract_scores


@pytest.mark.parametrize(
    ("columns", "scores"),
    [
        ("Score | Reason", {"KB": 10, "BC": 20}),
        ("Reason | Score", {"KB": 80, "BC": 30}),
        ("Score | Final score", {"KB": 10, "BC": 20}),
        ("Final score | Score", {"KB": 80, "BC": 30}),
        ("Rating | Score", {"KB": 80, "BC": 30}),
        ("Score (/100) | Rating", {"KB": 10, "BC": 20}),
        ("Rating | Final rating", {"KB": 80, "BC": 30}),
        ("Total score | Rating", {"KB": 10, "BC": 20}),
        ("Rating | Grade", {}),
        ("Score | Score", {}),
        ("Score (/10) | Score (/100)", {}),
        ("Overall score | Total score", {}),
    ],
)
def test_the_column_called_score_or_else_total_counts_and_of_two_alike_none(
    columns: str, scores: dict[str, float]
) -> None:
    table = f"| ID | {columns} |\n|---|---|---|\n| KB | 10 | 80 |\n| BC | 20 | 30 |\n"
    assert extract_scores(table, ["KB", "BC"], scale=(0, 100)).scores == scores
