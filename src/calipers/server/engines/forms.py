"""What training engines send to the server, as far as it is read, and what they get."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

Texts = list[str] | str


class OpenRlhfRequest(msgspec.Struct, frozen=True):
    """OpenRLHF's request: lists of equal length, in practice of one rollout. A query holds its prompt."""

    query: Texts
    prompts: Texts
    labels: list[Any] | str | None = None


class OpenRlhfReply(msgspec.Struct, frozen=True):
    """OpenRLHF's reply: numbers for one rollout, lists for several. ``extra_logs`` has ``judge_scored``."""

    rewards: float | list[float]
    scores: float | list[float]
    extra_logs: dict[str, Any]


class RemoteSample(msgspec.Struct, frozen=True):
    """A sample as ``remote_rm`` of slime and miles sends it."""

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
    group_size: Annotated[int, msgspec.Meta(ge=1, le=4096)] | None = None
    task: Any = msgspec.field(default=None, name="_ng_task_index")
    rollout: int | None = msgspec.field(default=None, name="_ng_rollout_index")


class GymVerified(msgspec.Struct, frozen=True):
    """The reply to ``/verify``: the request, and these fields."""

    reward: float
    judge_scored: float


class GymComparison(msgspec.Struct, frozen=True):
    """NeMo-Gym's request to ``/compare``. ``principle`` is the rubric."""

    conversation_history: list[dict[str, Any]]
    response_objs: Annotated[list[GymResponse], msgspec.Meta(min_length=1, max_length=4096)]
    principle: str | None = None


class GymCompared(msgspec.Struct, frozen=True):
    """The reply to ``/compare``: a reward for each response, in order."""

    rewards: list[float]
    metrics: dict[str, float]
    comparison_results: list[dict[str, Any]] | None = None
