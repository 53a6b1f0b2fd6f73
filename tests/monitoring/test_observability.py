"""Spans and the metrics page, as OpenTelemetry's own SDK and Prometheus' own parser take them, and without either."""

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
from calipers.monitoring.monitor import Monitor
from calipers.monitoring.prometheus import exposition
from calipers.monitoring.tracing import Spans
from calipers.testing import Flaky, HollowAnswers, SimulatedJudge
from groups import FOUR, QUALITY, group_of

INSTALL = "is not installed: pip install --group observed"


async def judged(*watchers: Monitor, spans: Spans | None = None) -> None:
    backend = SimulatedJudge(QUALITY, HollowAnswers(), Flaky.evenly(0.3), seed=4)
    judge = Judge(
        backend,
        orders=2,
        defence={"canaries": "always"},
        records={"watchers": [*watchers, *(() if spans is None else (spans,))]},
    )
    groups = [group_of(FOUR, group_id=f"g{n}", question=f'{n} + "{n}"?\n') for n in range(12)]
    async for _ in judge.score_groups(groups):
        pass


@pytest.mark.heavy
async def test_the_sdks_exporter_gets_a_span_for_each_answer_as_long_as_it_took() -> None:
    pytest.importorskip("opentelemetry.sdk", reason=f"opentelemetry-sdk {INSTALL}")
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - looked for above
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    answers: list[Any] = []
    spans = Spans(provider.get_tracer("calipers"))

    class Both(Spans):
        def __call__(self, request: Any, completion: Any, reading: Any) -> None:
            answers.append((request, completion, reading))
            spans(request, completion, reading)

    await judged(spans=Both(provider.get_tracer("unused")))
    kept = exporter.get_finished_spans()
    provider.shutdown()
    assert len(kept) == len(answers) > 12
    for span, (request, completion, reading) in zip(kept, answers, strict=True):
        attributes = span.attributes
        assert span.name == "calipers.judge"
        assert span.end_time - span.start_time == round(completion.latency * 1e9)
        assert attributes["calipers.group_id"] == request.view.group_id
        assert attributes["gen_ai.usage.input_tokens"] == completion.usage.input_tokens
        assert attributes["calipers.outcome"] == reading.outcome
        assert attributes.get("calipers.canary_won") is (None if reading.canary is None else reading.canary.won)
        assert "cannot add" not in span.to_json()
    assert {one.attributes["calipers.cause"] for one in kept} >= {"first", "order", "canary"}


@pytest.mark.heavy
async def test_prometheus_own_parser_reads_every_number_off_the_page() -> None:
    pytest.importorskip("prometheus_client", reason=f"prometheus-client {INSTALL}")
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - looked for above

    monitor = Monitor()
    await judged(monitor)
    numbers = {**monitor.metrics(), "policy/odd name-1": 1e-300, "judge/huge": 1e300, "judge/unknown": math.nan}
    labels = {"run": 'a "quoted"\\back\nline', "model": "vllm/qwen3"}
    families = {one.name: one for one in text_string_to_metric_families(exposition(numbers, labels))}
    finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
    assert len(families) == len(finite) > 20
    for name, value in finite.items():
        family = families["calipers_" + "".join(char if char.isalnum() or char == ":" else "_" for char in name)]
        assert family.type == "gauge"
        (sample,) = family.samples
        assert (sample.value, sample.labels) == (value, labels)


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
    judge = Judge(SimulatedJudge(QUALITY), orders=2, records={"watchers": [Spans(tracer, clock=lambda: 5_000_000_000)]})
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
