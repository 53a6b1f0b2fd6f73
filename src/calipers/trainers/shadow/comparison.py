"""What a judge's advantages would have been beside today's, from the records of ``Shadow``.

Not responsible for whether either reward is right: that takes gold (``calibration``), or people.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from calipers.errors import InputError

EPSILON: Final = 1e-4
"""What TRL adds to a group's standard deviation before it divides by it."""

_DRAWS: Final = 500
_LARGE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Comparison:
    """Today's advantages and the judge's, over the ``groups`` of a shadow run.

    ``left_out`` groups were not judged because too many waited, and ``unfinished`` ones when the process ended.
    ``lost`` counts groups by the reason why the judge scored fewer than two members. ``signal_today`` and
    ``signal_judge`` are the numbers of groups with an advantage that is not 0, ``signal_both`` with both. In the latter
    only: ``correlation`` of the advantages, from -1 to 1, with a 95 % interval ``low`` to ``high`` from draws of
    groups; ``flips``, the share of rollouts with opposite signs; ``large_flips``, of those above 0.5 in size with both;
    ``same_best``, the share of groups whose best rollout is the same. None where there is nothing to compute it from.
    """

    groups: int
    left_out: int
    unfinished: int
    lost: Mapping[str, int]
    signal_today: int
    signal_judge: int
    signal_both: int
    correlation: float | None
    low: float | None
    high: float | None
    flips: float | None
    large_flips: float | None
    same_best: float | None
    calls: int
    seconds: float | None


def read_shadow(paths: Iterable[str | Path]) -> Iterator[dict[str, Any]]:
    """Yield the lines of shadow records: files, or folders of them. Raises InputError with file and line."""
    for given in paths:
        path = Path(given)
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise InputError("holds no shadow records (*.jsonl)", source=str(path))
        for file in files:
            yield from _lines(file)


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", source=str(file)) from error
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError("is no JSON, as of a process that was killed", source=str(file), line=number) from error
        if not isinstance(row, dict) or not _is_record(row):
            raise InputError("is no record of a shadow run", source=str(file), line=number)
        yield {**row, "file": str(file)}


def _is_record(row: Mapping[str, Any]) -> bool:
    today, judge = row.get("today"), row.get("judge")
    if not isinstance(today, list) or not isinstance(judge, list) or len(today) != len(judge):
        return False
    values = [one for one in (*today, *judge) if one is not None]
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one) for one in values)
    return numbers and isinstance(row.get("number"), int) and isinstance(row.get("left_out", 0), int)


def advantages(rewards: Sequence[float | None], *, divided: bool = True) -> list[float]:
    """Return GRPO's advantages of a group, 0 for a missing reward: (r - mean) / (standard deviation + 1e-4).

    Mean and (unbiased) deviation are those of the rewards that are there. ``divided=False`` only subtracts the mean,
    as Dr. GRPO does. Equal rewards have exactly 0.
    """
    there = [one for one in rewards if one is not None]
    if len(there) < 2 or max(there) == min(there):
        return [0.0] * len(rewards)
    mean = math.fsum(there) / len(there)
    size = math.sqrt(math.fsum((one - mean) ** 2 for one in there) / (len(there) - 1)) + EPSILON if divided else 1.0
    return [0.0 if one is None else (one - mean) / size for one in rewards]


def compare(rows: Iterable[Mapping[str, Any]], *, divided: bool = True) -> Comparison:
    """Compare a judge's advantages with today's over the records ``rows`` of a shadow run (``read_shadow``)."""
    kept = list(rows)
    both: list[list[tuple[float, float]]] = []
    lost: Counter[str] = Counter()
    signal_today = signal_judge = 0
    for row in kept:
        today, judge = advantages(row["today"], divided=divided), advantages(row["judge"], divided=divided)
        if sum(one is not None for one in row["judge"]) < 2:
            lost[str(row.get("reason") or row.get("status"))] += 1
        signal_today += any(today)
        signal_judge += any(judge)
        if any(today) and any(judge):
            there = zip(row["today"], row["judge"], zip(today, judge, strict=True), strict=True)
            both.append([pair for old, new, pair in there if old is not None and new is not None])
    pairs = [pair for group in both for pair in group]
    signed = [pair for pair in pairs if pair[0] and pair[1]]
    large = [pair for pair in signed if min(abs(pair[0]), abs(pair[1])) > _LARGE]
    low, high = _interval(both)
    return Comparison(
        groups=len(kept),
        left_out=sum(_last_of_each_file(kept, "left_out").values()),
        unfinished=_unfinished(kept),
        lost=dict(lost.most_common()),
        signal_today=signal_today,
        signal_judge=signal_judge,
        signal_both=len(both),
        correlation=_correlation(both),
        low=low,
        high=high,
        flips=_share(signed, _flips),
        large_flips=_share(large, _flips),
        same_best=_share([group for group in both if group], _same_best),
        calls=sum(int(row.get("calls", 0)) for row in kept),
        seconds=math.fsum(float(row.get("seconds", 0.0)) for row in kept) / len(kept) if kept else None,
    )


def _last_of_each_file(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        file = str(row.get("file", ""))
        found[file] = max(found.get(file, 0), int(row.get(name, 0)))
    return found


def _unfinished(rows: Sequence[Mapping[str, Any]]) -> int:
    counts = Counter(str(row.get("file", "")) for row in rows)
    left_out = _last_of_each_file(rows, "left_out")
    return sum(
        max(0, most - left_out[file] - counts[file]) for file, most in _last_of_each_file(rows, "number").items()
    )


def _correlation(groups: Sequence[Sequence[tuple[float, float]]]) -> float | None:
    """Return the correlation of advantages, whose mean is 0 in each group: sum(x y) / sqrt(sum(x²) sum(y²))."""
    pairs = [pair for group in groups for pair in group]
    squares = math.fsum(x * x for x, _ in pairs) * math.fsum(y * y for _, y in pairs)
    return math.fsum(x * y for x, y in pairs) / math.sqrt(squares) if squares > 0 else None


def _interval(groups: Sequence[Sequence[tuple[float, float]]]) -> tuple[float | None, float | None]:
    """Return the 2.5th and 97.5th percentile of the correlation over draws of groups with replacement."""
    if len(groups) < 2:
        return None, None
    rng = random.Random(0)  # noqa: S311 - equal records have an equal interval
    drawn = (_correlation(rng.choices(groups, k=len(groups))) for _ in range(_DRAWS))
    found = sorted(one for one in drawn if one is not None)
    return (found[int(0.025 * len(found))], found[int(0.975 * len(found))]) if found else (None, None)


def _share(items: Sequence[Any], holds: Any) -> float | None:
    return sum(bool(holds(one)) for one in items) / len(items) if items else None


def _flips(pair: tuple[float, float]) -> bool:
    return pair[0] * pair[1] < 0


def _same_best(group: Sequence[tuple[float, float]]) -> bool:
    best = max(x for x, _ in group)
    chosen = max(y for _, y in group)
    return any(x == best and y == chosen for x, y in group)
