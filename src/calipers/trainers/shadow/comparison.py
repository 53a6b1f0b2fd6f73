"""What a judge's advantages would have been beside today's, from the records of ``Shadow``.

Not responsible for whether either reward is right: that takes gold (``calibration``), or people.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from calipers.errors import InputError
from calipers.types.counted import counted
from calipers.types.encoding import finite_number

EPSILON: Final = 1e-4
"""What TRL adds to a group's standard deviation before it divides by it."""

_ROUNDING: Final = 1e-12
"""Differences of rewards up to this share of the largest one are noise of computing, whose sign says nothing."""
_MOST: Final = sys.float_info.max / 4
_DRAWS: Final = 500
_NO_JSON: Final = "is no JSON: remove the line, or name other files"
_CUT_OFF: Final = "is cut off, as of a process that was killed"
_LARGE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Comparison:
    """Today's advantages and the judge's, over the ``groups`` of a shadow run.

    ``left_out`` groups were not judged because too many waited, and ``unfinished`` ones when the process ended.
    ``lost`` counts groups by the reason why the judge scored fewer than two members. ``signal_today`` and
    ``signal_judge`` are the numbers of groups with an advantage that is not 0, ``signal_both`` with both. In the latter
    only: ``correlation`` of the advantages, from -1 to 1, with a 95 % interval ``low`` to ``high`` from draws of
    groups; ``flips``, the share of rollouts with opposite signs; ``large_flips``, of those above 0.5 in size with both;
    ``same_best``, the share of groups whose best rollout is the same. ``unreadable`` lines of the records were skipped,
    and their groups count as unfinished. None where there is nothing to compute it from.
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
    unreadable: int = 0


def read_shadow(
    paths: Iterable[str | Path], *, on_skipped: Callable[[InputError], None] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the lines of shadow records: files, or folders of them; a file that is named twice counts once.

    Lines that cannot be read are skipped, and go to ``on_skipped`` as an InputError with file and line. Without
    ``on_skipped`` it is raised, unless a last line is cut off, as of a process that was killed. Raises InputError for
    files that cannot be read at all.
    """
    seen: set[Path] = set()
    for given in paths:
        path = Path(given)
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise InputError("holds no shadow records (*.jsonl)", source=str(path))
        for file in files:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield from _lines(file, on_skipped)


def _lines(file: Path, on_skipped: Callable[[InputError], None] | None) -> Iterator[dict[str, Any]]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(file)) from error
    lines = data.split(b"\n")  # and not splitlines, because text in JSON may hold Unicode's line separators
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = _record_in(line)
        if not isinstance(row, str):
            yield {**row, "file": str(file)}
            continue
        is_cut = row == _NO_JSON and number == len(lines)  # a whole line ends in a line feed
        problem = InputError(_CUT_OFF if is_cut else row, source=str(file), line=number)
        if on_skipped is not None:
            on_skipped(problem)
        elif not is_cut:
            raise problem


def _record_in(line: bytes) -> dict[str, Any] | str:
    """Return the record in a line, or what is wrong with it."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return _NO_JSON
    if not isinstance(row, dict):
        return "is no record of a shadow run: it is no JSON object"
    problem = _problem_of(row)
    return row if problem is None else f"is no record of a shadow run: {problem}"


def _problem_of(row: Mapping[str, Any]) -> str | None:
    today, judge = row.get("today"), row.get("judge")
    if not isinstance(today, list) or not isinstance(judge, list):
        return "it needs the lists 'today' and 'judge'"
    if len(today) != len(judge):
        return f"'today' has {counted(len(today), 'reward')} and 'judge' {len(judge)}"
    for name, default in (("number", None), ("left_out", 0), ("calls", 0)):
        if type(row.get(name, default)) is not int:
            return f"{name!r} is no whole number"
    numbers = [*(one for one in (*today, *judge) if one is not None), row.get("seconds", 0.0)]
    return None if all(finite_number(one) is not None for one in numbers) else "a reward, or 'seconds', is no number"


def advantages(rewards: Sequence[float | None], *, divided: bool = True) -> list[float]:
    """Return GRPO's advantages of a group, 0 for a missing reward: (r - mean) / (standard deviation + 1e-4).

    Mean and (unbiased) deviation are those of the rewards that are there. ``divided=False`` only subtracts the mean,
    as Dr. GRPO does. Rewards that are equal up to rounding have exactly 0, and so has one that is equal to the mean.
    """
    there = [one for one in rewards if one is not None]
    largest = max(map(abs, there), default=0.0)
    if len(there) < 2 or largest == 0.0:
        return [0.0] * len(rewards)
    # In units of the largest reward, so that rewards of any size have a mean and squares.
    scaled = [None if one is None else one / largest for one in rewards]
    mean = math.fsum(one for one in scaled if one is not None) / len(there)
    centred = [0.0 if one is None or abs(one - mean) <= _ROUNDING else one - mean for one in scaled]
    if not divided:
        return [max(-_MOST, min(_MOST, one * largest)) for one in centred]
    deviation = math.sqrt(math.fsum(one * one for one in centred) / (len(there) - 1))
    size = deviation + EPSILON / largest
    return [one / size for one in centred]


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
    low, high = _interval(_in_units_of_the_largest(both))
    return Comparison(
        groups=len(kept),
        left_out=sum(_last_of_each_file(kept, "left_out").values()),
        unfinished=_unfinished(kept),
        lost=dict(lost.most_common()),
        signal_today=signal_today,
        signal_judge=signal_judge,
        signal_both=len(both),
        correlation=_correlation(_in_units_of_the_largest(both)),
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
    size = math.hypot(*(x for x, _ in pairs)) * math.hypot(*(y for _, y in pairs))
    return math.fsum(x * y for x, y in pairs) / size if size > 0 else None


def _in_units_of_the_largest(groups: Sequence[Sequence[tuple[float, float]]]) -> list[list[tuple[float, float]]]:
    """Return advantages whose largest is 1 in both rewards, which leaves their correlation as it is."""
    most = [max((abs(pair[side]) for group in groups for pair in group), default=0.0) or 1.0 for side in (0, 1)]
    return [[(x / most[0], y / most[1]) for x, y in group] for group in groups]


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
    return (pair[0] < 0) != (pair[1] < 0)


def _same_best(group: Sequence[tuple[float, float]]) -> bool:
    return bool(_best([x for x, _ in group]) & _best([y for _, y in group]))


def _best(values: Sequence[float]) -> set[int]:
    """Return the positions of the largest values, which are equal up to rounding."""
    near = max(values) - _ROUNDING * max(map(abs, values))
    return {place for place, value in enumerate(values) if value >= near}
