"""The study's recorded judgments: every score follows from its raw text, and no reply that broke its parser is a 0."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip(f"{ROOT / 'benchmarks'} is not there: the benchmarks are not part of this checkout")
    sys.path.insert(0, str(ROOT))
    try:
        return importlib.import_module("benchmarks.reading.rubrics")
    finally:
        sys.path.remove(str(ROOT))


def test_no_reply_that_broke_the_studys_parser_is_read_wrongly_or_becomes_a_number(benchmark: ModuleType) -> None:
    assert len(benchmark.BROKEN) == 13
    assert benchmark.failures()


@pytest.mark.data
def test_every_recorded_score_is_reproduced_exactly(benchmark: ModuleType) -> None:
    root = benchmark.recorded_data()
    if not (root / "ruscarl").is_dir():
        pytest.skip(f"no recorded data at {os.environ.get('CALIPERS_DATA') or root}: set CALIPERS_DATA to where it is")
    rows = benchmark.sweep_rows(root)
    assert len(rows) == 17
    assert benchmark.sweep(rows)
