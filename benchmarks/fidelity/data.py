"""Recorded judges for the fidelity benchmark: groups and calls of one data set, and how they are split.

Sources: composo-ai/llm-judge-criteria-ensembling (rb2_k8), princeton-nlp/LLMBar (llmbar), dig-team/hanna-benchmark-asg
(hanna), ehsk/OpenQA-eval (openqa301), WeOpenML/PandaLM (pandalm), Slimshilin/Position-Bias-Analyzer (posbias_repeat).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.environment import recorded_data
from calipers.calibration.measures import Array, Counts, Flags
from calipers.calibration.records import Record, as_records
from calipers.calibration.series import Frame, Series, build_series
from calipers.inputs import read_groups


@dataclass(frozen=True, slots=True)
class Target:
    """One aim of the project, and what was measured."""

    text: str
    reached: bool
    measured: str


@cache
def load(name: str) -> tuple[Frame, list[Series]]:
    """One data set: its groups, and every judge's calls."""
    frame = Frame.of(read_groups(recorded_data() / name / "groups.jsonl.gz"))
    return frame, build_series(_records(name), frame)[0]


@cache
def _records(name: str) -> list[Record]:
    return list(as_records(recorded_data() / name / "judgments.jsonl.gz"))


def selected(name: str, keep: Callable[[str], bool]) -> tuple[Frame, list[Series]]:
    """One data set with only the groups whose id is kept."""
    frame = Frame.of(group for group in read_groups(recorded_data() / name / "groups.jsonl.gz") if keep(group.group_id))
    return frame, build_series(_records(name), frame)[0]


def half(frame: Frame, rows: Sequence[int], salt: int = 0) -> Flags:
    """True for the groups of the development half; drawn from each group's id, so that it is the same everywhere."""
    names = [frame.groups[row].group_id for row in rows]
    return np.array([hashlib.md5(f"{salt}:{name}".encode()).digest()[0] % 2 == 0 for name in names])  # noqa: S324 - a split


def depth(calls: Array) -> Counts:
    """The number of each group's calls with a score; at least 1."""
    return np.asarray(np.maximum((~np.isnan(calls)).any(axis=2).sum(axis=1), 1))


def figure(low_high: tuple[float, float] | None) -> str:
    """An interval as text."""
    return "" if low_high is None else f"[{low_high[0]:+.4f}, {low_high[1]:+.4f}]"
