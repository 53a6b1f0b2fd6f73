"""``remote_rm`` of slime and miles: a sample a request, or the samples of a group in one request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from calipers.server.digests import digest
from calipers.server.engines.forms import RemoteSample
from calipers.server.engines.parameters import GROUP_SIZE, NAME, RUN
from calipers.server.engines.waiting import results_of
from calipers.server.operations import Call, Handler, Operation, Parameter, decoded
from calipers.server.problems import invalid
from calipers.trainers.cohorts import key_of_prompt
from calipers.trainers.no_signal.run import float_reward, is_group_scored
from calipers.trainers.rollouts.rows import assistant_message, prompt_messages, read_label_of_row
from calipers.types.encoding import to_json

_REQUEST: Final = msgspec.json.Decoder(RemoteSample | list[RemoteSample])


async def _reward(call: Call, engine: str) -> bytes:
    tenant = call.tenant
    tenant.float_run.require_running()
    request = decoded(_REQUEST, call.body)
    whole = isinstance(request, list)
    samples = request if whole else [request]
    if whole:
        _require_group(samples)
    size = len(samples) if whole else tenant.group_size(call.parameters["group_size"])
    seats, taken = tenant.engines[engine], []
    # A group in one request shares no key with groups whose samples arrive one at a time.
    own = digest([one.response for one in samples]) if whole else b""
    try:
        for number, sample in enumerate(samples):
            shared = digest([sample.prompt, sample.label])
            key = key_of_prompt(sample.prompt, own, shared).within(call.parameters["run"], size)
            rubric, _ = read_label_of_row(sample.label, None)
            seat = seats.take(
                key,
                {"messages": [*prompt_messages(sample.prompt), assistant_message(sample.response)]},
                seen=digest(sample.response),
                size=size,
                group={"rubric": rubric},
                held=len(call.body) // len(samples),
                number=number if whole else None,
            )
            taken.append((key, seat))
    except BaseException:
        for key, seat in taken:
            seats.leave(key, seat, given=False)
        raise
    members = await results_of(seats, taken, call.gone)
    named: str | None = call.parameters["reward_key"]
    rewards = [_form(float_reward(one), scored=is_group_scored(one), named=named) for one in members]
    return to_json(rewards if whole else rewards[0])


def _form(reward: float, *, scored: bool, named: str | None) -> Any:
    return reward if not named else {named: reward, "judge_scored": float(scored)}


def _require_group(samples: Sequence[RemoteSample]) -> None:
    if not samples:
        raise invalid("the list of samples is empty")
    if any((one.prompt, one.label) != (samples[0].prompt, samples[0].label) for one in samples):
        raise invalid("the samples of a group have different prompts or labels; send each group by itself")


async def slime_reward(call: Call) -> bytes:
    """Answer a sample, or a group of samples, of slime when its group has been judged on the server."""
    return await _reward(call, "slime")


async def miles_reward(call: Call) -> bytes:
    """Answer a sample, or a group of samples, of miles when its group has been judged on the server."""
    return await _reward(call, "miles")


_PARAMETERS: Final = (
    GROUP_SIZE,
    RUN,
    Parameter(
        "reward_key",
        "Answer with an object that has the reward under this key (the engine's --reward-key), and judge_scored.",
        NAME,
    ),
)
_SUMMARY: Final = (
    "If any sample of a group stays unscored, all of the group get 0.5. A list of samples is a whole group."
)
_EXAMPLE: Final = {"prompt": "What is 7 times 8?", "response": "It is 56.", "label": "56"}


def _operation(engine: str, spelled: str, handler: Handler) -> Operation:
    return Operation(
        path=f"/{engine}/remote_rm",
        name=engine,
        summary=f"{spelled} --rm-url with --rm-type remote_rm. {_SUMMARY}",
        handler=handler,
        form=RemoteSample | list[RemoteSample],
        answer=float | dict[str, float] | list[float | dict[str, float]],
        example=_EXAMPLE,
        answer_example=0.82,
        parameters=_PARAMETERS,
    )


SLIME: Final = _operation("slime", "slime's", slime_reward)
MILES: Final = _operation("miles", "miles'", miles_reward)
