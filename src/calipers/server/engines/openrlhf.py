"""OpenRLHF's ``--reward.remote_url``: one rollout a request, judged when its group is complete."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from calipers.server.digests import digest
from calipers.server.engines.forms import OpenRlhfReply, OpenRlhfRequest
from calipers.server.engines.parameters import GROUP_SIZE, RUN
from calipers.server.engines.waiting import results_of
from calipers.server.operations import Call, Operation, decoded
from calipers.server.problems import invalid
from calipers.trainers.openrlhf import Row, group_key, member_of, reply_for, shared_by
from calipers.types.encoding import to_json

_REQUEST: Final = msgspec.json.Decoder(OpenRlhfRequest)


async def reward(call: Call) -> bytes:
    """Answer rollouts of OpenRLHF when their groups have been judged on the server."""
    tenant = call.tenant
    tenant.float_run.require_running()
    rows = _rows(decoded(_REQUEST, call.body))
    size, run = tenant.group_size(call.parameters["group_size"]), call.parameters["run"]
    seats, taken = tenant.engines["openrlhf"], []
    try:
        for row in rows:
            key = group_key(row).within(run, size)
            member, held = member_of(row), len(call.body) // len(rows)
            taken.append(
                (key, seats.take(key, member, seen=digest(row[0]), size=size, group=shared_by(row, None), held=held))
            )
    except BaseException:
        for key, seat in taken:
            seats.leave(key, seat, given=False)
        raise
    return to_json(reply_for(await results_of(seats, taken, call.gone)))


def _rows(request: OpenRlhfRequest) -> list[Row]:
    query, prompts = _listed(request.query), _listed(request.prompts)
    labels = [None] * len(query) if request.labels is None else _listed(request.labels)
    if not query or not len(query) == len(prompts) == len(labels):
        raise invalid("a request must hold the lists 'query', 'prompts' and 'labels', of equal length")
    return list(zip(query, prompts, labels, strict=True))


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else value


OPENRLHF: Final = Operation(
    path="/openrlhf",
    name="openrlhf",
    summary="OpenRLHF's --reward.remote_url. If any rollout of a group stays unscored, all of the group get 0.5.",
    handler=reward,
    form=OpenRlhfRequest,
    answer=OpenRlhfReply,
    example={"query": ["What is 7 times 8? It is 56."], "prompts": ["What is 7 times 8?"], "labels": ["56"]},
    answer_example={"rewards": 0.82, "scores": 0.82, "extra_logs": {"judge_scored": 1.0}},
    parameters=(GROUP_SIZE, RUN),
    waits=False,
)
