"""What the outside may put where a number or an object is expected: every leaf of a sample, replaced by each extreme
value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

RAW = {
    "<600 lists>": "[" * 600 + "1" + "]" * 600,
    "<600 objects>": '{"a":' * 600 + "1" + "}" * 600,
    "<3000 lists>": "[" * 3000 + "1" + "]" * 3000,
    "<90000 lists>": "[" * 90_000 + "1" + "]" * 90_000,
    "<5000 digits>": "9" * 5000,
}
"""Marks for what Python's own writer of JSON refuses to write."""


EXTREMES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**22, -(10**22), 10**400, -(10**400), 10**4000,
    0.5, -0.0, 1e22, 1e308, -1e308, 5e-324, float("nan"), float("inf"), -float("inf"),
    "", "x", "1", "-1", "9" * 23, "9" * 5000, "1e400", "nan", "inf", "\x00", "\ud800", "\x1b[2J",
    [], {}, [1], {"a": 1}, [None], [[]], [{}], *RAW,
)  # fmt: skip


ODD: tuple[Any, ...] = (
    None, 5, True, "x", "", [], {}, [1], {"a": 1}, ["x"], [None], [[]], [{}], 1.5, float("nan"), 10**400, -1, "\ud800",
    {"type": 5}, {"role": 5}, {"role": "user"}, [{"type": "text"}], {"url": 5}, "data:image/png;base64,",
)  # fmt: skip
"""What no field of a message or of a row holds, but might."""


def as_json(value: Any) -> bytes:
    """``value`` as JSON, with what the marks in it stand for."""
    text = json.dumps(value)
    for mark, raw in RAW.items():
        text = text.replace(json.dumps(mark), raw)
    return text.encode()


def mutants(sample: Any, extremes: Sequence[Any] = EXTREMES) -> Iterator[Any]:
    """``sample`` with one part of it, at any depth, replaced by each of the extremes, or left out."""
    yield from extremes
    match sample:
        case dict():
            for key, value in sample.items():
                yield {other: part for other, part in sample.items() if other != key}
                for changed in mutants(value, extremes):
                    yield {**sample, key: changed}
        case list():
            for place, value in enumerate(sample):
                yield [*sample[:place], *sample[place + 1 :]]
                for changed in mutants(value, extremes):
                    yield [*sample[:place], changed, *sample[place + 1 :]]
