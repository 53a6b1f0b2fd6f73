"""NeMo-Gym's resources server: ``/verify`` for a rollout, ``/compare`` for a whole group, ``/seed_session``."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from calipers.server.digests import digest
from calipers.server.engines.forms import GymCompared, GymComparison, GymRow, GymVerified
from calipers.server.engines.parameters import GROUP_SIZE, RUN
from calipers.server.engines.waiting import results_of
from calipers.server.operations import Call, Operation, decoded
from calipers.trainers.nemo_gym import group_key, items_for_judge, prompt_of
from calipers.trainers.no_signal.rewards import NEUTRAL, with_exact_ties
from calipers.trainers.no_signal.run import float_reward, is_group_scored
from calipers.trainers.rollouts.rows import rubric_of_row
from calipers.types.encoding import to_json

_ROW: Final = msgspec.json.Decoder(GymRow)
_COMPARISON: Final = msgspec.json.Decoder(GymComparison)


async def verify(call: Call) -> bytes:
    """Answer a rollout of NeMo-Gym as it was received, with its reward, when its group has been judged."""
    tenant = call.tenant
    tenant.float_run.require_running()
    checked = decoded(_ROW, call.body)
    row: dict[str, Any] = msgspec.json.decode(call.body)
    size = tenant.group_size(checked.group_size or call.parameters["group_size"])
    key = group_key(row).within(call.parameters["run"], size)
    items = items_for_judge(checked.response.output)
    seats = tenant.engines["nemo_gym"]
    seat = seats.take(
        key,
        {"messages": items},
        seen=digest(items),
        size=size,
        group={"context": prompt_of(row), "rubric": rubric_of_row(row, None)},
        held=len(call.body),
        number=checked.rollout,
    )
    (member,) = await results_of(seats, [(key, seat)], call.gone)
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
    answer = await call.tenant.groups.answer(group, len(call.body))
    result: dict[str, Any] = msgspec.json.decode(answer)
    rewards = with_exact_ties([one["reward"] for one in result["trajectories"]])
    scored = None not in rewards
    return to_json(
        {
            "rewards": rewards if scored else [NEUTRAL] * len(rewards),
            "metrics": {"judge_scored": float(scored)},
            "comparison_results": None,
        }
    )


async def seed_session(_: Call) -> bytes:
    """Answer NeMo-Gym's agent, which begins each rollout with this request. There is nothing to begin."""
    return b"{}"


_ROLLOUT: Final = {
    "responses_create_params": {"input": [{"role": "user", "content": "What is 7 times 8?"}]},
    "response": {
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 56."}]}]
    },
    "_ng_task_index": 5,
    "_ng_rollout_index": 3,
}

NEMO_GYM: Final = (
    Operation(
        path="/verify",
        name="nemoGymVerify",
        summary="NeMo-Gym's /verify. If any rollout of a group stays unscored, all of the group get 0.5.",
        handler=verify,
        form=GymRow,
        answer=GymVerified,
        example=_ROLLOUT,
        answer_example={**_ROLLOUT, "reward": 0.82, "judge_scored": 1.0},
        parameters=(GROUP_SIZE, RUN),
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
            "response_objs": [_ROLLOUT["response"], _ROLLOUT["response"]],
        },
        answer_example={"rewards": [0.95, 0.05], "metrics": {"judge_scored": 1.0}, "comparison_results": None},
        parameters=(RUN,),
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
