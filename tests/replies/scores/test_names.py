"""Which id a judge means, by equality only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.scores.found import is_template_text
from calipers.replies.scores.names import Names
from calipers.replies.scores.rows import is_placeholder


@given(st.lists(st.text(min_size=1, max_size=8), unique=True, min_size=1, max_size=6))
def test_every_id_matches_itself(ids: list[str]) -> None:
    names = Names(ids)
    assert [names.match(id_) for id_ in ids] == ids


@pytest.mark.parametrize(
    "written",
    [
        1, 1.0, "1", " 1 ", "#1", "1.", "01", "[1]", "**1**", "Trajectory 1", "trajectory_1", "Trajectory #1",
        "TRAJECTORY-1",
        "Trajectory1", '<trajectory id="1">', "<trajectory_1>", "Candidate: 1", "Response 1", "Trajectory one", "１",
        "①",
        "轨迹1", "第1个", "1号", "1 (the polite one)", "trajectory id 1", "The trajectory 1",
    ],
)  # fmt: skip
def test_decoration_is_taken_off(written: object) -> None:
    assert Names(["1", "2", "11"]).match(written) == "1"


@pytest.mark.parametrize(
    "written", [0, 3, 1.5, True, None, "", "one", "10", "111", "1 and 2", "1.5", "Trajectory", "A", [1]]
)
def test_likeness_is_no_match(written: object) -> None:
    assert Names(["1", "2", "11"]).match(written) is None


def test_what_two_ids_share_matches_neither() -> None:
    names = Names(["agent-1", "model-1", "ab", "AB"])
    assert names.match("1") is None
    assert names.match("Ab") is None
    assert names.match("AB") == "AB"


def test_placeholders_are_told_from_names_and_texts() -> None:
    assert is_placeholder("<id>")
    assert is_placeholder("...")
    assert not is_placeholder("RB")
    assert is_template_text("<why>")
    assert not is_template_text("ok")
