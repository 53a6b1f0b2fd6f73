"""The data types of calipers: trajectories, groups, questions, answers, judgments, results. Import them from here."""

from calipers.types.answers import (
    Answered,
    Completion,
    Failure,
    FailureKind,
    FinishReason,
    Logprobs,
    PlanState,
)
from calipers.types.groups import Criterion, Message, Prepared, Rubric, Tool, Trajectory, TrajectoryGroup, Transcript
from calipers.types.judgments import (
    Canary,
    CanaryKind,
    Comparison,
    Judgment,
    Outcome,
    Rating,
    Reading,
    Scores,
    Verdict,
    no_scores,
)
from calipers.types.questions import Ask, Candidate, Cause, Image, JudgeRequest, Part, RenderedGroup, Window
from calipers.types.results import (
    Attack,
    AttackKind,
    Certainty,
    GroupResult,
    GroupStatus,
    OnAttack,
    TrajectoryResult,
    TrajectoryStatus,
)
from calipers.types.usage import NO_FAILED_CALLS, FailedCall, FailedCalls, Usage

__all__ = [
    "NO_FAILED_CALLS", "Answered", "Ask", "Attack", "AttackKind", "Canary", "CanaryKind", "Candidate", "Cause",
    "Certainty", "Comparison", "Completion", "Criterion", "FailedCall", "FailedCalls", "Failure", "FailureKind",
    "FinishReason", "GroupResult", "GroupStatus", "Image", "JudgeRequest", "Judgment", "Logprobs", "Message",
    "OnAttack", "Outcome", "Part", "PlanState", "Prepared", "Rating", "Reading", "RenderedGroup", "Rubric", "Scores",
    "Tool", "Trajectory", "TrajectoryGroup", "TrajectoryResult", "TrajectoryStatus", "Transcript", "Usage", "Verdict",
    "Window", "no_scores",
]  # fmt: skip
