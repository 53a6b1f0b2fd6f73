"""What a noun says where nothing was given: nothing that was not observed."""

import dataclasses
from typing import Any

import pytest

from calipers import types
from calipers.types import (
    Answered,
    Ask,
    Canary,
    Comparison,
    Completion,
    Criterion,
    FailedCalls,
    Failure,
    GroupResult,
    JudgeRequest,
    PlanState,
    Rating,
    Reading,
    Reliability,
    RenderedGroup,
    Rubric,
    Scores,
    Trajectory,
    TrajectoryGroup,
    TrajectoryResult,
    Usage,
    Verdict,
)

ASK = Ask(0, (0, 1), (0, 1))
VIEW = RenderedGroup("g", ("a", "b"), "0" * 32, "@q7x", (), ())


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        (
            Completion("text"),
            {"finish_reason": "stop", "reasoning": "", "model": None, "latency": 0.0, "attempts": 1, "sent": None}
            | {"recorded": False, "fingerprint": None, "failed": None, "question": ""},
        ),
        (Usage(), {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "cost_usd": None}),
        (FailedCalls(), {"count": 0, "unusable": 0, "unmetered": 0, "usage": Usage(cost_usd=0.0)}),
        (Failure("server", "down"), {"fatal": False, "limit": None, "prompt": None, "window": None}),
        (Answered(ASK, Failure("server", "down")), {"usage": None, "question": ""}),
        (PlanState(VIEW, (), Scores((), ())), {"seed": 0}),
        (Criterion("id", "text"), {"points": 1.0, "tags": (), "veto": False, "levels": {}, "rule": None}),
        (Rubric(()), {"title": "", "all_negative": "refuse", "veto_floor": 0.0}),
        (
            Trajectory("a", ()),
            {
                "tools": None,
                "reward": None,
                "gold": None,
                "metadata": {},
                "extra": {},
                "rubric": None,
                "prepared": None,
            },
        ),
        (TrajectoryGroup("g", ()), {"context": (), "tools": None, "rubric": None, "extra": {}}),
        (Rating(3, 0.5, 7), {"place": 0, "slot": 0, "spread": None}),
        (Comparison(0, 1, 0.5, 7), {"slot": 0}),
        (
            Verdict(None),
            {"reason": "", "item": None, "criterion": None, "presentation": 0, "slot": 0, "share": None, "quote": None},
        ),
        (Canary("empty", won=True), {"alone": False}),
        (
            Reading((), "strict"),
            {"reason": None, "missing": {}, "explanations": {}, "truncated": False, "warnings": (), "complaint": None}
            | {"open": (), "canary": None},
        ),
        (VIEW, {"rubric": None, "tools": None, "prefix_length": 0, "warnings": (), "rubrics": ()}),
        (
            ASK,
            {"slot": 0, "anchors": (), "sample": 0, "cause": "first", "note": "", "max_tokens_factor": 1}
            | {"parent": None, "presentation": None, "window": None, "criteria": ()},
        ),
        (
            JudgeRequest((), (), ASK, VIEW),
            {"schema": None, "max_tokens": None, "params": {}, "max_score": 100, "is_comparison": False},
        ),
        (
            TrajectoryResult("a", "failed"),
            {"reward": None, "score": None, "stderr": None, "explanation": None, "reason": None, "attacks": ()},
        ),
        (
            GroupResult("g", "failed", ()),
            {"judge_calls": 0, "warnings": (), "extra": {}, "attempts": 0, "unusable": 0, "reliability": Reliability()},
        ),
        (Reliability(), {"value": None, "interval": None, "basis": "unknown", "freedom": None}),
        (Scores((), ()), {"basis": None, "freedom": None}),
    ],
    ids=lambda value: type(value).__name__ if dataclasses.is_dataclass(value) else "",
)
def test_a_noun_without_more_says_nothing_more(noun: Any, expected: dict[str, object]) -> None:
    assert {name: getattr(noun, name) for name in expected} == expected


def test_what_describes_one_call_or_one_process_is_neither_compared_nor_shown() -> None:
    """Recorded and fresh answers are equal if the judge said the same; a debugger's view stays short."""
    nouns = [one for one in vars(types).values() if isinstance(one, type) and dataclasses.is_dataclass(one)]
    fields = [(f"{noun.__name__}.{one.name}", one) for noun in nouns for one in dataclasses.fields(noun)]
    assert {name for name, one in fields if not one.compare} == {
        "Completion.sent", "Completion.recorded", "Completion.fingerprint", "Completion.text_source",
        "Completion.failed", "Completion.question", "JudgeRequest.on_failed_call", "Trajectory.prepared",
    }  # fmt: skip
    assert {name for name, one in fields if not one.repr} == {
        "Completion.sent", "Completion.recorded", "Completion.fingerprint", "Completion.text_source",
        "Completion.failed", "Completion.question", "Completion.logprobs", "JudgeRequest.on_failed_call",
        "Trajectory.prepared", "Verdict.presentation", "Verdict.slot", "Verdict.share", "Verdict.quote",
    }  # fmt: skip
    assert all(noun.__dataclass_params__.frozen for noun in nouns)  # type: ignore[attr-defined]  # of every dataclass
