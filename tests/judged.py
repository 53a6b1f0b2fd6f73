"""Simulated judges for tests of calibration: groups with gold, and recorded judgments of known noise and bias."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from calipers.calibration.records import as_record
from calipers.calibration.series import Frame, Series, build_series
from calipers.inputs import as_group

NAMES = ("a", "b", "c", "d")


def group(number: int, gold: dict[str, float | None]) -> dict[str, Any]:
    """One object of a groups file, without texts."""
    members: list[dict[str, Any]] = [{"id": name, "messages": [], "gold": value} for name, value in gold.items()]
    return {"group_id": f"g{number}", "trajectories": members}


def groups(count: int, *, seed: int = 0, names: tuple[str, ...] = NAMES) -> list[dict[str, Any]]:
    """Groups with gold drawn from a normal distribution."""
    generator = random.Random(seed)
    return [group(number, {name: generator.gauss(0, 1) for name in names}) for number in range(count)]


def gold_of(one: dict[str, Any]) -> dict[str, float]:
    return {member["id"]: member["gold"] for member in one["trajectories"]}


def record(one: dict[str, Any], judge: str, parsed: dict[str, Any] | None, **fields: Any) -> dict[str, Any]:
    """One object of a judgments file; pointwise unless said otherwise."""
    order = [member["id"] for member in one["trajectories"]]
    base = {"group_id": one["group_id"], "judge": judge, "mode": "pointwise", "order": order, "parsed": parsed}
    return base | {"sample_index": 0, "prompt_variant": "v"} | fields


def rated(
    every: list[dict[str, Any]], judge: str, noise: float, *, calls: int = 1, seed: int = 1, **fields: Any
) -> Iterator[dict[str, Any]]:
    """Gold plus normal noise, ``calls`` times."""
    generator = random.Random(f"{judge}{seed}")
    for one in every:
        for sample in range(calls):
            scores = {name: value + generator.gauss(0, noise) for name, value in gold_of(one).items()}
            yield record(one, judge, {"scores": scores}, sample_index=sample, **fields)


def compared(every: list[dict[str, Any]], judge: str, *, bias: float, noise: float) -> Iterator[dict[str, Any]]:
    """Every pair of members in both orders; the one shown first has ``bias`` added."""
    generator = random.Random(judge)
    for one in every:
        gold = gold_of(one)
        for first in gold:
            for second in gold:
                if first != second:
                    better = gold[first] - gold[second] + bias + generator.gauss(0, noise) > 0
                    parsed = {"winner": first if better else second}
                    yield record(one, judge, parsed, mode="pairwise", order=[first, second])


def series_of(every: list[dict[str, Any]], *records: dict[str, Any]) -> tuple[list[Series], Frame]:
    """The series of each judge in judgments of these groups, and the frame they are in."""
    frame = Frame.of(map(as_group, every))
    return build_series(map(as_record, records), frame)[0], frame
