"""The metrics page, as Prometheus' own parser takes it, and without it."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.judging.judge import Judge
from calipers.monitoring.monitor import Monitor
from calipers.monitoring.prometheus import exposition
from calipers.testing import Flaky, HollowAnswers, SimulatedJudge
from groups import FOUR, QUALITY, group_of

INSTALL = "is not installed: pip install --group observed"


async def judged(monitor: Monitor) -> None:
    backend = SimulatedJudge(QUALITY, HollowAnswers(), Flaky.evenly(0.3), seed=4)
    judge = Judge(
        backend,
        orders=2,
        defence={"canaries": "always"},
        records={"watchers": [monitor]},
    )
    groups = [group_of(FOUR, group_id=f"g{n}", question=f'{n} + "{n}"?\n') for n in range(12)]
    async for _ in judge.score_groups(groups):
        pass


@pytest.mark.heavy
async def test_prometheus_own_parser_reads_every_number_off_the_page() -> None:
    pytest.importorskip("prometheus_client", reason=f"prometheus-client {INSTALL}")
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - looked for above

    monitor = Monitor()
    await judged(monitor)
    numbers = {**monitor.metrics(), "policy/odd name-1": 1e-300, "judge/huge": 1e300, "judge/unknown": math.nan}
    families = {one.name: one for one in text_string_to_metric_families(exposition(numbers))}
    finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
    assert len(families) == len(finite) > 20
    for name, value in finite.items():
        family = families["calipers_" + "".join(char if char.isalnum() or char == ":" else "_" for char in name)]
        assert family.type == "gauge"
        (sample,) = family.samples
        assert sample.value == value


LINE = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]* \S+")


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.floats()))
def test_whatever_the_names_every_line_is_well_formed_and_finite(metrics: dict[str, float]):
    for line in exposition(metrics).split("\n")[:-1]:
        assert line.startswith("# TYPE calipers_") or LINE.fullmatch(line), line
        assert not line.endswith(("nan", "inf"))
