"""Numbers of things in messages."""

import pytest

from calipers.types.encoding import counted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 runs"), (1, "1 run"), (1.0, "1 run"), (2, "2 runs"), (12345, "12,345 runs")]
)
def test_one_thing_is_in_the_singular(number: float, words: str) -> None:
    assert counted(number, "run") == words


def test_a_plural_may_be_another_word() -> None:
    assert counted(1, "run has", "runs have") == "1 run has"
    assert counted(3, "run has", "runs have") == "3 runs have"
