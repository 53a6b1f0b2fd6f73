"""The server's own operations: whole groups, and rollouts one at a time."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from calipers.server.forms import Group, GroupResult, Rollout, RolloutAnswer
from calipers.server.requests import Call, Operation, decoded

_ROLLOUT: Final = msgspec.json.Decoder(Rollout)
_GROUP: Final = msgspec.json.Decoder(Group)
_ENCODER: Final = msgspec.json.Encoder()

_PROMPT: Final = [{"role": "user", "content": "What is 7 times 8?"}]
_USAGE: Final = {"input_tokens": 612, "output_tokens": 58, "cached_tokens": 0, "cost_usd": 0.0003}


async def score_rollout(call: Call) -> bytes:
    """Answer a rollout when its group has been judged on the server."""
    call.tenant.run.require_running()
    answer = await call.tenant.rollouts.answer(decoded(_ROLLOUT, call.body), len(call.body))
    return _ENCODER.encode(answer)


async def score_group(call: Call) -> bytes:
    """Answer a whole group when it has been judged on the server."""
    call.tenant.run.require_running()
    decoded(_GROUP, call.body)  # for its checks: the group keeps keys that the form does not name
    return await call.tenant.groups.answer(msgspec.json.decode(call.body), len(call.body))


def _says(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def _row(member: str, reward: float, explanation: str) -> dict[str, Any]:
    stated = {"id": member, "status": "scored", "reward": reward, "score": reward, "stderr": None}
    return {**stated, "explanation": explanation, "reason": None}


OWN: Final = (
    Operation(
        path="/v1/rollouts",
        name="scoreRollout",
        summary="Score a rollout against its siblings, which other requests bring. Held until the group is judged.",
        handler=score_rollout,
        form=Rollout,
        answer=RolloutAnswer,
        example={
            "group_id": "step-12/prompt-5",
            "group_size": 8,
            "index": 3,
            "messages": _says("7 times 8 is 56."),
            "context": _PROMPT,
        },
        answer_example={
            "group_id": "step-12/prompt-5",
            "index": 3,
            "status": "scored",
            "reward": 0.82,
            "score": 0.82,
            "stderr": 0.04,
            "reason": None,
            "rewarded": 8,
        },
        waits=True,
    ),
    Operation(
        path="/v1/groups",
        name="scoreGroup",
        summary="Score a whole group: an object of a groups file, answered with a line of a result file.",
        handler=score_group,
        form=Group,
        answer=GroupResult,
        example={
            "group_id": "step-12/prompt-5",
            "context": _PROMPT,
            "trajectories": [
                {"id": "a", "messages": _says("7 times 8 is 56.")},
                {"id": "b", "messages": _says("It is 54.")},
            ],
        },
        answer_example={
            "group_id": "step-12/prompt-5",
            "status": "scored",
            "trajectories": [_row("a", 0.95, "Right, and short."), _row("b", 0.05, "54 is wrong.")],
            "judge_calls": 1,
            "usage": _USAGE,
            "warnings": [],
        },
        waits=True,
    ),
)
