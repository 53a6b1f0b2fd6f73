"""Two parallel lists of ids and scores in one sentence."""

from __future__ import annotations

import pytest

from calipers.replies.scores.names import Names
from calipers.replies.scores.numbers import is_last_of_list, read_respective_scores

CODES, NUMBERS = Names(["KB", "BC"]), Names(["1", "2"])


def read(line: str, names: Names) -> dict[str, str]:
    return {one.id_: one.written for one in read_respective_scores(line, names)}


@pytest.mark.parametrize("between", [" and ", ", ", "," + " " * 15])
def test_each_number_belongs_to_the_id_at_its_place(between: str) -> None:
    assert read(f"KB and BC receive 71{between}87 respectively.", CODES) == {"KB": "71", "BC": "87"}
    assert read(f"1 and 2 receive 71{between}87 respectively.", NUMBERS) == {"1": "71", "2": "87"}
    assert read(f"KB (3 files) and BC receive 71{between}87 respectively.", CODES) == {"KB": "71", "BC": "87"}


@pytest.mark.parametrize(
    "line",
    [
        "KB and BC receive 71 and 87.",
        "KB and BC differ respectively.",
        "KB receives 71 and 87 respectively.",
        "KB and BC receive 71 respectively.",
        "KB and BC receive 71, 87 and 90 respectively.",
        "KB and KB receive 71 and 87 respectively.",
        "KB 3 and BC 4 receive 71 and 87 respectively.",
        "71 and 87 respectively went to KB and BC.",
        "If both had run, KB and BC would receive 71 and 87 respectively.",
        f"KB and BC receive 71,{' ' * 16}87 respectively.",  # further apart than two numbers of one list
    ],
)
def test_lists_that_are_not_clearly_parallel_give_no_score(line: str) -> None:
    assert read_respective_scores(line, CODES) == []


def test_the_first_numbers_are_the_ids_where_ids_are_numbers() -> None:
    assert read("1 and 2 receive 3 and 4 respectively.", NUMBERS) == {"1": "3", "2": "4"}
    assert read_respective_scores("1 and 2 differ respectively.", NUMBERS) == []


@pytest.mark.parametrize(
    ("before", "last"),
    [
        ("KB and ", True), ("KB, ", True), ("KB & ", True), ("KB und ", True), ("KB and the candidate ", True),
        ("KB: 3, ", False), ("KB ", False), ("it and ", False), ("", False),
    ],
)  # fmt: skip
def test_an_id_after_another_and_a_joint_ends_a_list(before: str, *, last: bool) -> None:
    assert is_last_of_list(before, CODES) is last
    assert is_last_of_list("word " * 50 + before, CODES) is last
