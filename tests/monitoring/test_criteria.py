"""Health metrics of criteria."""

from typing import Any

from calipers.monitoring.criteria import criteria_health
from calipers.monitoring.health import health
from calipers.types import GroupResult, TrajectoryResult


def graded(*verdicts: dict[str, Any], **extra: Any) -> GroupResult:
    members = tuple(
        TrajectoryResult(
            str(place), "scored", 0.5, extra={"criteria": {name: {"met": met} for name, met in one.items()}}
        )
        for place, one in enumerate(verdicts)
    )
    return GroupResult("g", "scored", members, extra=extra)


def told(question: str, *texts: str, **more: Any) -> GroupResult:
    written = [{"id": f"w{place}", "text": text} for place, text in enumerate(texts)]
    return GroupResult("g", "scored", (), extra={"prompt_criteria": {"written": written, "question": question} | more})


def test_a_criterion_with_one_verdict_for_all_is_saturated():
    found = criteria_health([graded({"a": True, "b": True, "c": None}, {"a": True, "b": False, "c": True})])
    assert found["criteria_saturated_rate"] == 0.5
    assert health([graded({"a": True}, {"a": True})])["judge/criteria_saturated_rate"] == 1.0


def test_what_is_unknown_has_no_number():
    for results in ([], [graded({"a": True})], [GroupResult("g", "scored", (), extra={"prompt_criteria": "a user's"})]):
        assert set(criteria_health(results).values()) == {None}


def test_missing_and_repeated_sets_are_counted_by_prompt():
    results = [told("q1", "Same."), told("q1", "Same."), told("q2", "Same."), told("q3", "Other."), told("q4")]
    found = criteria_health(results)
    assert found["criteria_missing_rate"] == 0.2
    assert found["criteria_repeated_rate"] == 2 / 3
