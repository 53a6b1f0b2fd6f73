"""The forms of the server's requests and answers. Requests are checked against them; OpenAPI is made of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

GroupId = Annotated[
    str,
    msgspec.Meta(min_length=1, max_length=512, description="The group's name, which no other group of the run has."),
]
Run = Annotated[
    str,
    msgspec.Meta(
        max_length=128,
        pattern="^[A-Za-z0-9._-]*$",
        description="The training run. The same group_id in two runs names two groups.",
    ),
]
Messages = Annotated[list[dict[str, Any]], msgspec.Meta(description="Chat messages in OpenAI's form.")]
Rubric = str | dict[str, Any] | None
Tools = list[dict[str, Any]] | None
Version = Annotated[int, msgspec.Meta(ge=0, le=9007199254740991)]
Versions = Version | Annotated[list[Version], msgspec.Meta(min_length=1, max_length=4096)] | None
AnswerStatus = Literal["scored", "abstained", "failed", "too_few", "late", "not_judged"]


class Rollout(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One rollout of a group.

    ``context``, ``tools`` and ``rubric`` are what the rollouts of the group share, as in a groups file; they must be
    the same for each rollout. A rollout without messages is reported lost: its siblings do not wait for it.
    ``policy_version`` is the version of the policy that wrote this rollout, or a list of those of its parts.
    """

    group_id: GroupId
    group_size: Annotated[int, msgspec.Meta(ge=1, le=4096, description="The number of rollouts of the group.")]
    index: Annotated[int, msgspec.Meta(ge=0, le=4095, description="The rollout's number in its group, from 0.")]
    messages: Messages
    run: Run = ""
    context: Messages | None = None
    tools: Tools = None
    rubric: Rubric = None
    policy_version: Versions = None


class RolloutAnswer(msgspec.Struct, frozen=True, gc=False):
    """The result of one rollout: a finite ``reward``, or null with a ``reason``, and never both.

    ``status`` is "scored" if there is a reward; "abstained" or "failed" if the judge gave none; "too_few" if too few
    rollouts of the group were scored; "late" if the group had been judged without this rollout; "not_judged" if no
    judge was asked. ``score`` and ``stderr`` are the judge's score and its standard error. ``rewarded`` counts the
    rollouts of the group that got a reward.
    """

    group_id: str
    index: int
    status: AnswerStatus
    reward: float | None
    score: float | None = None
    stderr: float | None = None
    reason: str | None = None
    rewarded: int = 0


class Waiting(msgspec.Struct, frozen=True):
    """The request may end before there is an answer (``Prefer: wait``). Send it again."""

    status: Literal["waiting"] = "waiting"


class Member(msgspec.Struct, frozen=True):
    """A rollout of a whole group. Further keys are as in a groups file."""

    messages: Messages
    id: str | int | None = None


class Group(msgspec.Struct, frozen=True):
    """A whole group: an object of a groups file. Without a ``group_id``, the id is derived from the content."""

    trajectories: Annotated[list[Member], msgspec.Meta(min_length=1, max_length=4096)]
    group_id: GroupId | None = None
    run: Run = ""
    context: Messages | None = None
    tools: Tools = None
    rubric: Rubric = None


class MemberResult(msgspec.Struct, frozen=True):
    """The result of a rollout: a line's ``trajectories`` entry in a result file. Some results have further keys."""

    id: str
    status: Literal["scored", "abstained", "failed"]
    reward: float | None
    score: float | None
    stderr: float | None
    explanation: str | None
    reason: str | None


class GroupResult(msgspec.Struct, frozen=True):
    """The result of a group: a line of a result file."""

    group_id: str
    status: Literal["scored", "partial", "abstained", "failed"]
    trajectories: list[MemberResult]
    judge_calls: int
    usage: dict[str, Any]
    warnings: list[str]


class Problem(msgspec.Struct, frozen=True):
    """Why a request got no result. ``request_id`` finds it in the server's log."""

    error: str
    kind: str
    request_id: str


class Health(msgspec.Struct, frozen=True):
    """The state of the process: "ok", "ready", or why it is not ready."""

    status: str
    reason: str | None = None
