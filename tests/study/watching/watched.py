"""Rows of watched runs, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from calipers.study.watching.rows import WatchedGroup


def group(step: int, number: int = 0, **fields: Any) -> WatchedGroup:
    """A row of a watched run, of 4 rollouts with 100 characters each unless ``fields`` say otherwise."""
    base: dict[str, Any] = {"split": "train", "group": f"g{number}", "size": 4, "missing": 0.0, "characters": 100.0}
    return WatchedGroup(step=step, **{**base, **fields})


def run(name: str, values: dict[int, list[float]], **fields: Any) -> list[WatchedGroup]:
    """Rows in which the field ``name`` has these values in each step."""

    def rows() -> Iterator[WatchedGroup]:
        for step, of_step in values.items():
            for number, value in enumerate(of_step):
                yield group(step, number, **{**fields, name: value})

    return list(rows())
