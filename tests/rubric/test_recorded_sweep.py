"""The study's recorded judgments: every score follows from its raw text, and no reply that broke its parser is a 0."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "rubrics.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    if not BENCHMARK.is_file():
        pytest.skip(f"{BENCHMARK} is not there: the benchmarks are not part of this checkout")
    spec = importlib.util.spec_from_file_location("rubrics_benchmark", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_reply_that_broke_the_studys_parser_is_read_wrongly_or_becomes_a_number(benchmark: ModuleType) -> None:
    assert len(benchmark.BROKEN) == 13
    assert benchmark.failures()


@pytest.mark.data
def test_every_recorded_score_is_reproduced_exactly(benchmark: ModuleType) -> None:
    root = benchmark.data()
    if not (root / "ruscarl").is_dir():
        pytest.skip(f"no recorded data at {os.environ.get('CALIPERS_DATA') or root}: set CALIPERS_DATA to where it is")
    rows = benchmark.sweep_rows(root)
    assert len(rows) == 17
    assert benchmark.sweep(rows)
