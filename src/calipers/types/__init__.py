"""The data types of calipers: trajectories, groups, questions, answers, judgments, results. Import them from here."""

from calipers.types.answers import (
    Answered,
    Completion,
    Failure,
    FailureKind,
    FinishReason,
    Logprobs,
    PlanState,
    ToolCall,
    said_and_calls,
    text_of_calls,
)
from calipers.types.groups import Criterion, Message, Rubric, Tool, Trajectory, TrajectoryGroup, Transcript
from calipers.types.judgments import (
    Canary,
    CanaryKind,
    Comparison,
    ErrorBasis,
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
    UNKNOWN_RELIABILITY,
    Attack,
    AttackKind,
    Certainty,
    GroupResult,
    GroupStatus,
    OnAttack,
    Reliability,
    ReliabilityBasis,
    TrajectoryResult,
    TrajectoryStatus,
)
from calipers.types.usage import NO_FAILED_CALLS, FailedCall, FailedCalls, Usage

__all__ = [
    "NO_FAILED_CALLS", "UNKNOWN_RELIABILITY", "Answered", "Ask", "Attack", "AttackKind", "Canary", "CanaryKind",
    "Candidate", "Cause", "Certainty", "Comparison", "Completion", "Criterion", "ErrorBasis", "FailedCall",
    "FailedCalls", "Failure", "FailureKind", "FinishReason", "GroupResult", "GroupStatus", "Image", "JudgeRequest",
    "Judgment", "Logprobs", "Message", "OnAttack", "Outcome", "Part", "PlanState", "Rating", "Reading",
    "Reliability", "ReliabilityBasis", "RenderedGroup", "Rubric", "Scores", "Tool", "ToolCall", "Trajectory",
    "TrajectoryGroup", "TrajectoryResult", "TrajectoryStatus", "Transcript", "Usage", "Verdict", "Window", "no_scores",
    "said_and_calls", "text_of_calls",
]  # fmt: skip
