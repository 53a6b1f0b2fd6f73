"""Write OpenTelemetry spans of a judge's answers, named by the conventions for generative models.

OpenTelemetry is an optional dependency. Spans contain no text of questions or replies.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from calipers.errors import ConfigError
from calipers.types import Completion, JudgeRequest, Reading

INSTALL = "pip install 'calipers[otel]'"


class Spans:
    """An observer (``Judge(records={"watchers": [Spans()]})``) that writes a span for each answer of the judge.

    ``tracer`` is an OpenTelemetry tracer; by default the global provider's. Raises ConfigError if OpenTelemetry is not
    installed. ``clock`` returns nanoseconds since 1970.
    """

    def __init__(self, tracer: Any = None, *, clock: Callable[[], int] = time.time_ns) -> None:
        self._tracer = _default_tracer() if tracer is None else tracer
        self._clock = clock

    def __call__(self, request: JudgeRequest, completion: Completion, reading: Reading) -> None:
        ended = self._clock()
        began = ended - round(completion.latency * 1e9)
        attributes = _attributes(request, completion, reading)
        span = self._tracer.start_span("calipers.judge", start_time=began, attributes=attributes)
        span.end(end_time=ended)


def _attributes(request: JudgeRequest, completion: Completion, reading: Reading) -> dict[str, str | int | float | bool]:
    ask = request.ask
    found: dict[str, str | int | float | bool | None] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.model": completion.model,
        "gen_ai.usage.input_tokens": completion.usage.input_tokens,
        "gen_ai.usage.output_tokens": completion.usage.output_tokens,
        "calipers.group_id": request.view.group_id,
        "calipers.ask": ask.number,
        "calipers.cause": ask.cause,
        "calipers.slot": ask.slot,
        "calipers.candidates": len(ask.order),
        "calipers.outcome": reading.outcome,
        "calipers.missing": len(reading.missing),
        "calipers.attempts": completion.attempts,
        "calipers.cost_usd": completion.usage.cost_usd,
        "calipers.canary_won": None if reading.canary is None else reading.canary.won,
    }
    return {key: value for key, value in found.items() if value is not None}


def _default_tracer() -> Any:
    try:
        from opentelemetry import trace  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigError(f"spans need OpenTelemetry: {INSTALL}") from None
    return trace.get_tracer("calipers")
