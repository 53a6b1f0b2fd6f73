"""Fields of any type, and files of any size, are read or refused with a sentence: never with another exception."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import read_groups
from calipers.inputs.foreign.grouping import grouped
from calipers.inputs.foreign.rollout import Rollout
from inputs.foreign.test_no_text_is_lost import ROWS
from inputs.foreign.written import written

ODD: list[Any] = [
    None, 5, True, "x", "", [], {}, [1], {"a": 1}, ["x"], [None], [[]], [{}], 1.5, float("nan"), 10**400, -1, "\ud800",
    {"type": 5}, {"role": 5}, {"role": "user"}, [{"type": "text"}], {"url": 5}, "data:image/png;base64,",
]  # fmt: skip
SAMPLE = 40


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside ``value``."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def with_odd(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    found = deepcopy(value)
    holder = found
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = odd
    return found


@pytest.mark.parametrize("name", ROWS)
def test_a_field_of_another_type_is_read_or_refused(name: str, tmp_path: Path):
    random, paths = Random(name), list(places(ROWS[name]))
    for _ in range(SAMPLE):
        rows = with_odd(ROWS[name], random.choice(paths), random.choice(ODD))
        listed = rows if isinstance(rows, list) else [rows]
        problems: list[InputError] = []
        try:
            groups = list(read_groups(written(tmp_path / "rows.jsonl", *listed), on_error=problems.append))
        except InputError as error:
            groups, problems = [], [error]
        assert groups or problems
        assert json.dumps([group.to_dict() for group in groups], ensure_ascii=False, allow_nan=False).encode()


def test_rollouts_wait_outside_memory():
    def rollouts() -> Iterator[tuple[int, Rollout]]:
        for number in range(400):
            said = {"role": "assistant", "content": f"{number} " * 50_000}
            yield number, Rollout([{"role": "user", "content": f"q{number // 4}"}, said])

    tracemalloc.start()
    try:
        count = sum(len(group["trajectories"]) for _, group in grouped(rollouts()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 400
    assert peak < 55 * 2**20  # the texts are 76 MiB


@pytest.mark.parametrize("depth", [90, 120, 5000])
def test_a_row_that_is_nested_deeply_costs_itself_alone(depth: int, tmp_path: Path):
    nested = b'{"prompt": "p", "completion": "a", "info": ' + b"[" * depth + b"]" * depth + b"}\n"
    problems: list[str] = []
    path = written(tmp_path / "rows.jsonl", nested, {"prompt": "p", "completion": "b"})
    (group,) = read_groups(path, on_error=lambda error: problems.append(str(error)))
    assert len(group.trajectories) + len(problems) == 2
    assert bool(problems) is (depth > 100)


def test_a_line_of_megabytes_is_read(tmp_path: Path):
    path = written(tmp_path / "rows.jsonl", {"prompt": "p", "completion": "a" * 2**21})
    (group,) = read_groups(path)
    assert len(group.trajectories[0].messages[0]["content"]) == 2**21
