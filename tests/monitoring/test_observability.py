"""Spans and the metrics page, as OpenTelemetry and Prometheus take them."""

from __future__ import annotations

import math
import re
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.monitoring.prometheus import exposition
from calipers.monitoring.tracing import Spans
from calipers.testing import SimulatedJudge
from groups import FOUR, QUALITY, group_of


async def judged(spans: Spans) -> None:
    """A group in two orders and with a canary."""
    defence = {"canaries": "always"}
    judge = Judge(SimulatedJudge(QUALITY), orders=2, defence=defence, records={"watchers": [spans]})
    await judge.score_group(group_of(FOUR, group_id="g7"))


@pytest.mark.heavy
async def test_opentelemetrys_own_sdk_exports_a_span_for_each_answer() -> None:
    reason = "opentelemetry-sdk is not installed: pip install --group observed"
    pytest.importorskip("opentelemetry.sdk", reason=reason)
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - looked for above
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    await judged(Spans(provider.get_tracer("calipers")))
    kept = exporter.get_finished_spans()
    provider.shutdown()
    assert {one.attributes["calipers.cause"] for one in kept} >= {"first", "order"}
    assert all(one.name == "calipers.judge" and one.end_time >= one.start_time for one in kept)


class Tracer:
    """Keeps spans, as an OpenTelemetry tracer is asked for them."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []

    def start_span(self, name: str, *, start_time: int, attributes: dict[str, Any]) -> Tracer:
        self.spans.append({"name": name, "start": start_time, **attributes})
        return self

    def end(self, *, end_time: int) -> None:
        self.spans[-1]["end"] = end_time


async def test_every_answer_is_a_span_as_long_as_it_took_with_numbers_and_no_text():
    tracer, latencies = Tracer(), list[float]()

    class Both(Spans):
        def __call__(self, request: Any, completion: Any, reading: Any) -> None:
            latencies.append(completion.latency)
            super().__call__(request, completion, reading)

    await judged(Both(tracer, clock=lambda: 5_000_000_000))
    assert len(tracer.spans) == len(latencies) == 2
    for span, latency in zip(tracer.spans, latencies, strict=True):
        assert (span["name"], span["end"]) == ("calipers.judge", 5_000_000_000)
        assert span["end"] - span["start"] == round(latency * 1e9)
        assert (span["calipers.group_id"], span["calipers.outcome"]) == ("g7", "strict")
        assert span["gen_ai.usage.input_tokens"] > 0
        assert all(isinstance(value, (str, int, float, bool)) for value in span.values())
        assert not any("cannot add" in str(value) for value in span.values())
    assert {span["calipers.cause"] for span in tracer.spans} >= {"first", "order"}
    assert {span["calipers.canary_won"] for span in tracer.spans if "calipers.canary_won" in span} == {False}


def test_without_opentelemetry_one_sentence_says_what_to_install():
    if find_spec("opentelemetry") is not None:
        pytest.skip("OpenTelemetry is installed")
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[otel\]'"):
        Spans()


def test_each_finite_metric_is_a_gauge_with_all_labels():
    metrics = {"judge/groups": 12.0, "policy/odd name-1": 1e-300, "judge/unknown": math.nan}
    page = exposition(metrics, {"run": 'a "quoted"\\back\nline', "model": "vllm/qwen3"})
    labels = r'{model="vllm/qwen3",run="a \"quoted\"\\back\nline"}'
    assert page.splitlines() == [
        "# TYPE calipers_judge_groups gauge", f"calipers_judge_groups{labels} 12.0",
        "# TYPE calipers_policy_odd_name_1 gauge", f"calipers_policy_odd_name_1{labels} 1e-300",
    ]  # fmt: skip


LINE = re.compile(
    r'[a-zA-Z_:][a-zA-Z0-9_:]*(?:\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*"'
    r'(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*")*\})? \S+'
)


@given(
    st.dictionaries(st.text(min_size=1, max_size=20), st.floats()),
    st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(max_size=9)),
)
def test_whatever_the_names_every_line_is_well_formed_and_finite(metrics: dict[str, float], labels: dict[str, str]):
    for line in exposition(metrics, labels).split("\n")[:-1]:
        assert line.startswith("# TYPE calipers_") or LINE.fullmatch(line), line
        assert not line.endswith(("nan", "inf"))
