"""The forms of requests and answers, our own and the engines'. Requests are checked against them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

GroupId = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Name = Annotated[str, msgspec.Meta(max_length=128, pattern="^[A-Za-z0-9._-]*$")]
Size = Annotated[int, msgspec.Meta(ge=1, le=4096)]
Messages = list[dict[str, Any]]
Texts = Annotated[list[str], msgspec.Meta(max_length=4096)]
Rubric = str | dict[str, Any] | None
Tools = list[dict[str, Any]] | None
Version = Annotated[int, msgspec.Meta(ge=0, le=9007199254740991)]
Versions = Version | Annotated[list[Version], msgspec.Meta(min_length=1, max_length=4096)] | None


class Query(msgspec.Struct, frozen=True):
    """What the URL of an engine's request may say. Rollouts of two runs are never in one group."""

    group_size: Size | None = None
    run: Name = ""


class Rollout(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One rollout of a group.

    ``context``, ``tools`` and ``rubric`` are what the rollouts of the group share, as in a groups file; they must be
    the same for each rollout. A rollout without messages is reported lost: its siblings do not wait for it. The same
    ``group_id`` in two runs names two groups. ``policy_version`` is the version of the policy that wrote this rollout,
    or a list of those of its parts.
    """

    group_id: GroupId
    group_size: Size
    index: Annotated[int, msgspec.Meta(ge=0, le=4095)]
    messages: Messages
    run: Name = ""
    context: Messages | None = None
    tools: Tools = None
    rubric: Rubric = None
    policy_version: Versions = None


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
    run: Name = ""
    context: Messages | None = None
    tools: Tools = None
    rubric: Rubric = None


class Problem(msgspec.Struct, frozen=True):
    """Why a request got no result. ``request_id`` finds it in the server's log."""

    error: str
    kind: str
    request_id: str


class OpenRlhfRequest(msgspec.Struct, frozen=True):
    """OpenRLHF's request: lists of equal length, in practice of one rollout. A query holds its prompt."""

    query: Texts | str
    prompts: Texts | str
    labels: list[Any] | str | None = None


class RemoteSample(msgspec.Struct, frozen=True):
    """A sample as ``remote_rm`` of slime sends it."""

    prompt: str | list[dict[str, Any]]
    response: str
    label: Any = None


class GymParameters(msgspec.Struct, frozen=True):
    """A row's request to the policy, in NeMo-Gym."""

    input: str | list[dict[str, Any]]
    instructions: str | None = None


class GymResponse(msgspec.Struct, frozen=True):
    """A policy's response, in NeMo-Gym."""

    output: list[dict[str, Any]]


class GymRow(msgspec.Struct, frozen=True):
    """NeMo-Gym's request to ``/verify``. Further fields come back as they are."""

    responses_create_params: GymParameters
    response: GymResponse
    group_size: Size | None = None
    task: Any = msgspec.field(default=None, name="_ng_task_index")
    rollout: int | None = msgspec.field(default=None, name="_ng_rollout_index")


class Health(msgspec.Struct, frozen=True):
    """The state of the process: "ok", "ready", or why it is not ready."""

    status: str
    reason: str | None = None
