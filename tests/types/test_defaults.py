"""What is compared and shown of the data types."""

import dataclasses

from calipers import types
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, TrajectoryResult, Usage


def test_what_describes_one_call_or_one_process_is_not_compared() -> None:
    """Recorded and fresh answers are equal if the judge said the same."""
    nouns = [one for one in vars(types).values() if isinstance(one, type) and dataclasses.is_dataclass(one)]
    fields = [(f"{noun.__name__}.{one.name}", one) for noun in nouns for one in dataclasses.fields(noun)]
    assert {name for name, one in fields if not one.compare} == {
        "Completion.sent", "Completion.recorded", "Completion.fingerprint", "Completion.text_source",
        "Completion.failed", "Completion.question", "JudgeRequest.on_failed_call", "TrajectoryGroup.is_checked",
    }  # fmt: skip
    assert all(noun.__dataclass_params__.frozen for noun in nouns)  # type: ignore[attr-defined]  # of every dataclass


def test_results_and_groups_are_shown_in_a_line_without_texts():
    message = {"role": "assistant", "content": "secret" * 1000}
    members = (TrajectoryResult("a", "scored", 0.8, 0.75, 0.034), TrajectoryResult("b", "failed", reason="timeout"))
    result = GroupResult("g1", "partial", members, 2, Usage(10, 5, cost_usd=0.00123), ("secret",))
    assert repr(result) == "GroupResult('g1', partial, rewards=[0.8, None], judge_calls=2, $0.0012, warnings=1)"
    assert "cost unknown" in repr(dataclasses.replace(result, usage=Usage()))
    group = TrajectoryGroup("g", (Trajectory("a", (message,), reward=1.0),), (message,), rubric="secret")
    for shown in (repr(group), repr(members[1])):
        assert "secret" not in shown
        assert len(shown) < 200
