"""One value of a reply as a verdict."""

import pytest

from calipers.replies.criteria.met import read_met
from calipers.replies.strictjson import CUT


@pytest.mark.parametrize(
    "value", [True, 1, 1.0, "PRESENT", "Met", "**Yes**", "yes.", "Yes - it does", "✅", "满足", "passed"]
)
def test_what_says_met(value: object) -> None:
    assert read_met(value, {}).value is True


@pytest.mark.parametrize(
    "value", [False, 0, "NOT_PRESENT", "NOT PRESENT", "not-met", "Unmet", "No: none of it", "不满足"]
)
def test_what_says_not_met(value: object) -> None:
    assert read_met(value, {}).value is False


@pytest.mark.parametrize("value", [
    2, -1, 0.5, "maybe", "yes and no", "Yes, but partly", "present or not present", "PRESENT/NOT_PRESENT", "knows", "",
    "eyes", CUT,
])  # fmt: skip
def test_what_says_neither(value: object) -> None:
    row = read_met(value, {})
    assert (row.value, row.undecided) == (None, False)
    assert row.problem


@pytest.mark.parametrize("value", [None, "n/a", "Not applicable", "cannot tell: the log ends"])
def test_what_says_that_it_cannot_be_told(value: object) -> None:
    assert read_met(value, {}).undecided


def test_a_level_is_its_name() -> None:
    levels = {"not at all": 0.0, "partly": 0.25, "fully": 1.0}
    assert [read_met(word, levels).value for word in ("Not at all", "PARTLY", "fully", "half", True)] == [
        0,
        0.25,
        1,
        None,
        None,
    ]
