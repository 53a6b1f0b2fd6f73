"""What results and groups show of themselves: one short line, whatever is in them."""

import pytest

from calipers.types import GroupResult, Trajectory, TrajectoryGroup, TrajectoryResult, Usage


def test_a_result_shows_its_rewards_calls_cost_and_warnings():
    members = (TrajectoryResult("a", "scored", 0.8, 0.75, 0.034), TrajectoryResult("b", "failed", reason="timeout"))
    result = GroupResult("g1", "partial", members, 2, Usage(10, 5, cost_usd=0.00123), ("long " * 999,))
    assert repr(result) == "GroupResult('g1', partial, rewards=[0.8, None], 2 answers, $0.0012, 1 warning)"
    assert repr(members[0]) == "TrajectoryResult('a', scored, reward=0.8, score=0.75 ± 0.034)"
    assert repr(members[1]) == "TrajectoryResult('b', failed, reward=None, 'timeout')"


def test_an_unknown_cost_is_unknown_and_no_result_is_longer_than_a_person_reads():
    many = tuple(TrajectoryResult(f"{number}", "failed", reason="x" * 10_000) for number in range(1000))
    result = GroupResult("g" * 1000, "failed", many, 1, Usage(cost_usd=None))
    assert "cost unknown" in repr(result)
    assert "984 more" in repr(result)
    assert len(repr(result)) < 400
    assert len(repr(many[0])) < 200


def test_a_group_shows_how_much_is_in_it_and_no_text():
    one = Trajectory("a" * 1000, ({"role": "assistant", "content": "secret" * 1000},), reward=1.0)
    assert repr(one).endswith(", 1 message, reward=1)")
    group = TrajectoryGroup("g", (one, one), ({"role": "user", "content": "secret"},), rubric="secret")
    assert repr(group) == "TrajectoryGroup('g', 1 message of context, 2 trajectories, with a rubric)"
    assert "secret" not in repr(one)


def test_a_result_is_a_data_frame_in_which_a_missing_number_is_nan():
    pytest.importorskip("pandas")
    members = (TrajectoryResult("a", "scored", 0.8, 0.75, 0.034), TrajectoryResult("b", "failed", reason="timeout"))
    frame = GroupResult("g1", "partial", members).to_pandas()
    assert list(frame["status"]) == ["scored", "failed"]
    assert list(frame["reward"].isna()) == [False, True]
