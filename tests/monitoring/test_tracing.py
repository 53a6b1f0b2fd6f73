"""Spans: one for each answer, as long as it took, and no text in them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.monitoring.tracing import Spans
from calipers.testing import SimulatedJudge
from groups import FOUR, QUALITY, group_of


class Tracer:
    """Keeps spans, as an OpenTelemetry tracer is asked for them."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []

    def start_span(self, name: str, *, start_time: int, attributes: dict[str, Any]) -> Tracer:
        self.spans.append({"name": name, "start": start_time, **attributes})
        return self

    def end(self, *, end_time: int) -> None:
        self.spans[-1]["end"] = end_time


async def test_every_answer_is_a_span_with_numbers_and_no_text():
    tracer = Tracer()
    judge = Judge(SimulatedJudge(QUALITY), orders=2, records={"observer": Spans(tracer, clock=lambda: 5_000_000_000)})
    await judge.score_group(group_of(FOUR, group_id="g7"))
    assert len(tracer.spans) == 2
    span = tracer.spans[0]
    assert span["name"] == "calipers.judge"
    assert (span["calipers.group_id"], span["calipers.candidates"], span["calipers.outcome"]) == ("g7", 4, "strict")
    assert span["gen_ai.usage.input_tokens"] > 0
    assert span["start"] <= span["end"] == 5_000_000_000
    assert all(isinstance(value, (str, int, float, bool)) for value in span.values())
    assert not any("cannot add" in str(value) for value in span.values())


def test_without_opentelemetry_one_sentence_says_what_to_install():
    if find_spec("opentelemetry") is not None:
        pytest.skip("OpenTelemetry is installed")
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[otel\]'"):
        Spans()
