"""Training engines' own requests for rewards, as routes of the server: OpenRLHF, NeMo-Gym, slime and miles."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Final

import msgspec

from calipers.server.answered import digest
from calipers.server.requests import Call, CallerGoneError, Operation, Parameter, decoded
from calipers.server.room import invalid
from calipers.trainers.cohorts import MemberResult, key_of_prompt
from calipers.trainers.nemo_gym import group_key as gym_key
from calipers.trainers.nemo_gym import items_for_judge, prompt_of
from calipers.trainers.openrlhf import group_key, member_of, reply_for, shared_by
from calipers.trainers.rewards import NEUTRAL, with_exact_ties
from calipers.trainers.rows import assistant_message, prompt_messages, read_label_of_row, rubric_of_row
from calipers.trainers.run import float_reward, is_group_scored
from calipers.types.encoding import to_json

_Name: Final[Any] = Annotated[str, msgspec.Meta(max_length=128, pattern="^[A-Za-z0-9._-]*$")]
_Size: Final[Any] = Annotated[int, msgspec.Meta(ge=1, le=4096)]
_GROUP_SIZE: Final = Parameter(
    "group_size", "The number of rollouts of a prompt. Default: the server's --group-size.", _Size
)
_RUN: Final = Parameter("run", "The training run: rollouts of two runs are never in one group.", _Name, default="")
_REWARD_KEY: Final = Parameter(
    "reward_key",
    "Answer with an object that has the reward under this key (the engine's --reward-key), and judge_scored.",
    _Name,
)


class OpenRlhfRequest(msgspec.Struct, frozen=True):
    """OpenRLHF's request: lists of equal length, in practice of one rollout. A query holds its prompt."""

    query: list[str] | str
    prompts: list[str] | str
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
    group_size: _Size | None = None
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


_OPENRLHF: Final = msgspec.json.Decoder(OpenRlhfRequest)
_SAMPLES: Final = msgspec.json.Decoder(RemoteSample | list[RemoteSample])
_ROW: Final = msgspec.json.Decoder(GymRow)
_COMPARISON: Final = msgspec.json.Decoder(GymComparison)


@dataclass(frozen=True, slots=True)
class _Rollout:
    """A rollout of an engine: the key of its group, what the judge gets, and what tells it from its siblings."""

    key: Any
    member: Mapping[str, Any]
    seen: Any
    group: Mapping[str, Any] = field(default_factory=dict)
    number: int | None = None


async def _judged(call: Call, engine: str, rollouts: Sequence[_Rollout], size: int | None) -> list[MemberResult]:
    """Return the results of an engine's rollouts once all are known.

    Raises CallerGoneError if the caller leaves before, and what the judge raises.
    """
    seats, taken, given = call.tenant.engines[engine], [], False
    size = call.tenant.group_size(size or call.parameters["group_size"])
    try:
        for one in rollouts:
            key = one.key.within(call.parameters["run"], size)
            held = len(call.body) // len(rollouts)
            seat = seats.take(
                key, one.member, seen=digest(one.seen), size=size, group=one.group, held=held, number=one.number
            )
            taken.append((key, seat))
        left = asyncio.ensure_future(call.gone())
        results = asyncio.gather(*(asyncio.shield(seat.result) for _, seat in taken))
        try:
            await asyncio.wait((results, left), return_when=asyncio.FIRST_COMPLETED)
            if left.done():
                raise CallerGoneError
            found = await results
            given = True
            return found
        finally:
            left.cancel()
            results.cancel()
            if results.done() and not results.cancelled():
                results.exception()  # marks it as retrieved: every caller gets it from its own seat
    finally:
        for key, seat in taken:
            seats.leave(key, seat, given=given)


async def openrlhf(call: Call) -> bytes:
    """Answer rollouts of OpenRLHF when their groups have been judged on the server."""
    call.tenant.float_run.require_running()
    request = decoded(_OPENRLHF, call.body)
    query, prompts = _listed(request.query), _listed(request.prompts)
    labels = [None] * len(query) if request.labels is None else _listed(request.labels)
    if not query or not len(query) == len(prompts) == len(labels):
        raise invalid("a request must hold the lists 'query', 'prompts' and 'labels', of equal length")
    rows = list(zip(query, prompts, labels, strict=True))
    rollouts = [_Rollout(group_key(row), member_of(row), row[0], shared_by(row, None)) for row in rows]
    return to_json(reply_for(await _judged(call, "openrlhf", rollouts, None)))


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else value


async def remote_rm(call: Call, *, engine: str) -> bytes:
    """Answer a sample, or the samples of a group, of slime or miles when the group has been judged on the server."""
    call.tenant.float_run.require_running()
    request = decoded(_SAMPLES, call.body)
    whole = isinstance(request, list)
    samples: list[RemoteSample] = request if whole else [request]
    if not samples:
        raise invalid("the list of samples is empty")
    first = samples[0]
    if any((one.prompt, one.label) != (first.prompt, first.label) for one in samples):
        raise invalid("the samples of a group have different prompts or labels; send each group by itself")
    # A group in one request shares no key with groups whose samples arrive one at a time.
    own = digest([one.response for one in samples]) if whole else b""
    key = key_of_prompt(first.prompt, own, digest([first.prompt, first.label]))
    group = {"rubric": read_label_of_row(first.label, None)[0]}
    rollouts = [
        _Rollout(
            key,
            {"messages": [*prompt_messages(one.prompt), assistant_message(one.response)]},
            one.response,
            group,
            number if whole else None,
        )
        for number, one in enumerate(samples)
    ]
    members = await _judged(call, engine, rollouts, len(samples) if whole else None)
    named: str | None = call.parameters["reward_key"]
    rewards: list[Any] = [float_reward(one) for one in members]
    if named:
        scored = [float(is_group_scored(one)) for one in members]
        rewards = [{named: reward, "judge_scored": one} for reward, one in zip(rewards, scored, strict=True)]
    return to_json(rewards if whole else rewards[0])


async def verify(call: Call) -> bytes:
    """Answer a rollout of NeMo-Gym as it was received, with its reward, when its group has been judged."""
    call.tenant.float_run.require_running()
    checked = decoded(_ROW, call.body)
    row: dict[str, Any] = msgspec.json.decode(call.body)
    items = items_for_judge(checked.response.output)
    group = {"context": prompt_of(row), "rubric": rubric_of_row(row, None)}
    rollout = _Rollout(gym_key(row), {"messages": items}, items, group, checked.rollout)
    (member,) = await _judged(call, "nemo_gym", [rollout], checked.group_size)
    return to_json({**row, "reward": float_reward(member), "judge_scored": float(is_group_scored(member))})


async def compare(call: Call) -> bytes:
    """Answer a whole group of NeMo-Gym with a reward for each response; one constant for all if any is missing."""
    call.tenant.float_run.require_running()
    request = decoded(_COMPARISON, call.body)
    group = {
        "context": request.conversation_history,
        "trajectories": [{"messages": items_for_judge(one.output)} for one in request.response_objs],
        "rubric": request.principle,
        "run": call.parameters["run"],
    }
    result: dict[str, Any] = msgspec.json.decode(await call.tenant.groups.answer(group, len(call.body)))
    rewards = with_exact_ties([one["reward"] for one in result["trajectories"]])
    scored = None not in rewards
    shown = rewards if scored else [NEUTRAL] * len(rewards)
    return to_json({"rewards": shown, "metrics": {"judge_scored": float(scored)}, "comparison_results": None})


async def seed_session(_: Call) -> bytes:
    """Answer NeMo-Gym's agent, which begins each rollout with this request. There is nothing to begin."""
    return b"{}"


def _remote_rm(engine: str) -> Operation:
    return Operation(
        path=f"/{engine}/remote_rm",
        name=engine,
        summary=f"--rm-url of {engine}, with --rm-type remote_rm. If any sample of a group stays unscored, all of the "
        "group get 0.5. A list of samples is a whole group.",
        handler=partial(remote_rm, engine=engine),
        form=RemoteSample | list[RemoteSample],
        answer=float | dict[str, float] | list[float | dict[str, float]],
        example={"prompt": "What is 7 times 8?", "response": "It is 56.", "label": "56"},
        answer_example=0.82,
        parameters=(_GROUP_SIZE, _RUN, _REWARD_KEY),
    )


_GYM_ROLLOUT: Final = {
    "responses_create_params": {"input": [{"role": "user", "content": "What is 7 times 8?"}]},
    "response": {
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 56."}]}]
    },
    "_ng_task_index": 5,
    "_ng_rollout_index": 3,
}

ENGINES: Final = (
    Operation(
        path="/openrlhf",
        name="openrlhf",
        summary="OpenRLHF's --reward.remote_url. If any rollout of a group stays unscored, all of the group get 0.5.",
        handler=openrlhf,
        form=OpenRlhfRequest,
        answer=OpenRlhfReply,
        example={"query": ["What is 7 times 8? It is 56."], "prompts": ["What is 7 times 8?"], "labels": ["56"]},
        answer_example={"rewards": 0.82, "scores": 0.82, "extra_logs": {"judge_scored": 1.0}},
        parameters=(_GROUP_SIZE, _RUN),
    ),
    _remote_rm("slime"),
    _remote_rm("miles"),
    Operation(
        path="/verify",
        name="nemoGymVerify",
        summary="NeMo-Gym's /verify. If any rollout of a group stays unscored, all of the group get 0.5.",
        handler=verify,
        form=GymRow,
        answer=GymVerified,
        example=_GYM_ROLLOUT,
        answer_example={**_GYM_ROLLOUT, "reward": 0.82, "judge_scored": 1.0},
        parameters=(_GROUP_SIZE, _RUN),
    ),
    Operation(
        path="/compare",
        name="nemoGymCompare",
        summary="NeMo-Gym's genrm_compare: a whole group. If any response stays unscored, all get 0.5.",
        handler=compare,
        form=GymComparison,
        answer=GymCompared,
        example={
            "conversation_history": [{"role": "user", "content": "What is 7 times 8?"}],
            "response_objs": [_GYM_ROLLOUT["response"], _GYM_ROLLOUT["response"]],
        },
        answer_example={"rewards": [0.95, 0.05], "metrics": {"judge_scored": 1.0}, "comparison_results": None},
        parameters=(_RUN,),
    ),
    Operation(
        path="/seed_session",
        name="nemoGymSeedSession",
        summary="NeMo-Gym's agents send this before each rollout. It does nothing.",
        handler=seed_session,
        answer=dict[str, Any],
        example={},
        answer_example={},
    ),
)
