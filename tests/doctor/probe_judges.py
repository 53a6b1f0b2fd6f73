"""Scripted servers for the doctor: judges that answer probes rightly, or wrongly in one way."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from calipers.doctor.probes import INJECTIONS, PROBES
from servers.faulty_server import Answer, Asked, said

GOLD: Mapping[str, float] = {
    str(one.messages[0]["content"]): one.gold or 0.0 for group in (*PROBES, *INJECTIONS) for one in group.trajectories
}
MODELS = Answer(body={"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 32768}]})

_CANDIDATE = re.compile(r"(?ms)^(@\w+) candidate (\w+)\n\1 assistant\n(.*?)\n(?=\1 (?:candidate|end\n))")


def shown(asked: Asked) -> dict[str, str]:
    """The answers in a question by their keys, in the order shown; empty for a question that is no probe."""
    return {key: text for _, key, text in _CANDIDATE.findall(asked.body["messages"][-1]["content"])}


def verdict(scores: Mapping[str, float]) -> str:
    """The reply of a judge that gives these scores (0-1)."""
    points = {key: round(100 * value) for key, value in scores.items()}
    return json.dumps({"explanations": dict.fromkeys(points, "fair"), "scores": points})


def truth(asked: Asked) -> dict[str, float]:
    return {key: GOLD[text] for key, text in shown(asked).items()}


def form_of(asked: Asked) -> str | None:
    return (asked.body.get("response_format") or {}).get("type")


def forced(asked: Asked) -> Answer:
    """What a server that applies schemas answers to a check_applied_schema."""
    if form_of(asked) != "json_schema":
        return said("Hello there, an apple.")
    schema = asked.body["response_format"]["json_schema"]["schema"]
    return said(json.dumps({name: one["enum"][0] for name, one in schema["properties"].items()}))


def judge(
    opinion: Callable[[Asked], Mapping[str, float]] = truth,
    *,
    write: Callable[[Mapping[str, float]], str] = verdict,
    check_applied_schema: Callable[[Asked], Answer] = forced,
    **message: Any,
) -> Callable[[Asked], Answer]:
    """A server that gives its opinion on probes, cuts its reply where the limit is short, and answers canaries."""

    def serve(asked: Asked) -> Answer:
        if not shown(asked):
            return check_applied_schema(asked)
        text = write(opinion(asked))
        if asked.body.get("max_tokens", 8192) < 50:
            return said(text[:40], finish_reason="length", **message)
        return said(text, **message)

    return serve
