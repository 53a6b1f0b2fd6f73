"""What shortening costs and whom it favours, on recorded agent groups: ``python -m benchmarks.fidelity.elision``.

Every group is fitted into windows of 4k, 8k, 16k and 32k tokens. ``elided`` is the share of a candidate's characters
left out. It must not rank: within a group, it should say nothing about gold that length does not say already. The
embedded judge reads the shortened candidates, too; its score changes must not follow what was left out.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.environment import recorded_data
from benchmarks.fidelity.data import correlation
from calipers.backends.embedded import Embedded
from calipers.inputs import read_groups
from calipers.protocols.listwise import Listwise
from calipers.render import BYTES_PER_TOKEN, Unfit, count_characters, fit_question, render
from calipers.types import Ask, JudgeRequest, TrajectoryGroup, Window

DATA = ("taubench_airline", "tau2_airline")
WINDOWS = (4096, 8192, 16384, 32768)
BYTES = 4.0
"""About what English agent transcripts have to a token; calipers supposes less until a server taught it."""


@dataclass(slots=True)
class Tally:
    """All candidates of the shortened groups of one data set and window; within-group deviations where they rank."""

    untouched: int = 0
    shortened: int = 0
    too_long: int = 0
    shares: list[float] = field(default_factory=list)
    spread: list[float] = field(default_factory=list)
    elided: list[float] = field(default_factory=list)
    length: list[float] = field(default_factory=list)
    gold: list[float] = field(default_factory=list)
    change: list[float] = field(default_factory=list)
    pairs: list[tuple[float, float]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def main() -> int:
    """Print one table; 2 where the recorded data is not there."""
    if not recorded_data().is_dir():
        print(f"no recorded data at {recorded_data()}: set CALIPERS_DATA")
        return 2
    print(f"at {BYTES} bytes a token (before anything is learned, {BYTES_PER_TOKEN} are supposed)")
    print(
        f"{'data':<17}{'window':>7}{'groups':>7}{'whole':>6}{'short':>6}{'over':>5}{'elided':>8}{'+-':>6}"
        f"{'r(el,gold)':>12}{'95 %':>16}{'r(len,gold)':>13}{'partial':>9}{'95 %':>16}"
        f"{'r(el,change)':>14}{'95 %':>16}{'change':>8}"
        f"{'agree':>14}{'pairs':>7}{'ms':>6}"
    )
    for name in DATA:
        groups = list(read_groups(recorded_data() / name / "groups.jsonl.gz"))
        for window in WINDOWS:
            _show(name, window, asyncio.run(_tally(groups, Window(window, BYTES))))
    return 0


async def _tally(groups: Sequence[TrajectoryGroup], window: Window) -> Tally:
    tally, protocol, judge = Tally(), Listwise(), Embedded()
    for group in groups:
        view = render(group)
        order = tuple(range(len(view.candidates)))
        if len(order) < 2:
            continue
        request = protocol.frame(Ask(0, order, order), view)
        began = time.perf_counter()
        fit = fit_question(request, window, protocol.frame)
        took = time.perf_counter() - began
        if isinstance(fit, Unfit) or fit.omitted:
            tally.too_long += 1
        elif fit.request.view is view:
            tally.untouched += 1
        else:
            tally.shortened += 1
            tally.seconds.append(took)
            await _compare(group, request, fit.request, tally=tally, protocol=protocol, judge=judge)
    return tally


async def _compare(
    group: TrajectoryGroup,
    whole: JudgeRequest,
    short: JudgeRequest,
    *,
    tally: Tally,
    protocol: Listwise,
    judge: Embedded,
) -> None:
    lengths = np.array([count_characters(one.body) for one in whole.view.candidates], float)
    left = np.array([count_characters(one.body) for one in short.view.candidates], float)
    before, after = [await _scores(request, protocol, judge) for request in (whole, short)]
    gold = np.array([_gold(group, one.members) for one in whole.view.candidates], float)
    elided = 1 - left / lengths
    tally.shares += elided.tolist()
    tally.spread.append(float(elided.std()))
    tally.change += (after - before - (after - before).mean()).tolist()
    tally.elided += (elided - elided.mean()).tolist()
    tally.length += (lengths - lengths.mean()).tolist()
    tally.gold += (gold - gold.mean()).tolist()
    for i in range(len(gold)):
        for j in range(i):
            if gold[i] != gold[j]:
                sign = np.sign(gold[i] - gold[j])
                tally.pairs.append(tuple(0.5 + 0.5 * float(np.sign(s[i] - s[j]) * sign) for s in (before, after)))  # type: ignore[arg-type]  # two


async def _scores(request: JudgeRequest, protocol: Listwise, judge: Embedded) -> np.ndarray:
    reading = protocol.read(request, await judge.complete(request))
    values = {one.item: one.value for one in reading.judgments}  # type: ignore[union-attr]  # listwise ratings
    return np.array([values[item] for item in range(len(request.view.candidates))])


def _gold(group: TrajectoryGroup, members: Sequence[int]) -> float:
    return statistics.fmean(group.trajectories[member].gold or 0.0 for member in members)


def _show(name: str, window: int, tally: Tally) -> None:
    total = tally.untouched + tally.shortened + tally.too_long
    line = f"{name:<17}{window:>7}{total:>7}{tally.untouched:>6}{tally.shortened:>6}{tally.too_long:>5}"
    if tally.shortened:
        elided, gold, change, length = (np.array(one) for one in (tally.elided, tally.gold, tally.change, tally.length))
        r = correlation(elided, gold)
        free = len(gold) - tally.shortened
        moved, beyond = correlation(elided, change), _partial(elided, gold, length)
        before, after = (statistics.fmean([pair[side] for pair in tally.pairs] or [0.5]) for side in (0, 1))
        line += (
            f"{statistics.fmean(tally.shares):>8.1%}{statistics.fmean(tally.spread):>6.2f}{r:>12.3f}"
            f"{_interval(r, free):>16}{correlation(length, gold):>13.3f}{beyond:>9.3f}{_interval(beyond, free):>16}"
            f"{moved:>14.3f}{_interval(moved, free):>16}{float(np.abs(change).mean()):>8.3f}"
            f"{f'{before:.3f}->{after:.3f}':>14}{len(tally.pairs):>7}{1000 * statistics.median(tally.seconds):>6.1f}"
        )
    print(line, flush=True)


def _interval(r: float, freedom: int) -> str:
    """95 % by Fisher's z, with as many observations as deviations are free."""
    half = 1.96 / np.sqrt(max(1, freedom - 3))
    return f"[{np.tanh(np.arctanh(r) - half):.2f}, {np.tanh(np.arctanh(r) + half):.2f}]"


def _partial(one: np.ndarray, other: np.ndarray, given: np.ndarray) -> float:
    """The correlation that is left when what ``given`` explains is taken out of both."""
    size = float(given @ given) or 1.0
    return correlation(one - given * float(one @ given) / size, other - given * float(other @ given) / size)


if __name__ == "__main__":
    sys.exit(main())
