"""Whether ``calibrate`` recommends the best way to ask, on simulated judges of stated noise, bias and ties.

    python -m benchmarks.fidelity.recommendation [--truth 300] [--few]

Groups of n have qualities of N(0, 1). A comparison says how far the first is better: the difference, plus a leaning to
the first place, plus N(0, noise). A list's score falls by the leaning from first to last and errs by r * noise / sqrt
2; a lone score errs as much. Lists are written on a grid of 0.1 (coarse: 0.5), lone scores on 0.5; a comparison's
margin on 0.5, and coarse judges call a tie below 0.5. A call costs 0.25 thousand tokens, and each transcript it shows
1.03.

Each judge is calibrated on 30 and on 100 groups under five limits, and what is recommended is held against all ways on
groups of their own.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.calibration import Calibration, calibrate, measures

LIMITS = (1, 2, 4, 8, 16)
"""What a group may cost, in calls that list it whole."""
ORDERS = 16
CALIBRATED = (30, 100)
SHARE_OF_BEST = 0.985


@dataclass(frozen=True, slots=True)
class Simulated:
    """A judge: ``noise`` of a comparison, ``leaning`` to the first place, ``ratio`` of a list's noise to it."""

    noise: float
    leaning: float
    ratio: float
    coarse: bool
    members: int


GRID = [
    Simulated(*one) for one in itertools.product((0.8, 1.2), (0.0, 0.35, 1.0), (1.0, 1.5, 3.0), (False, True), (4, 8))
]


def groups(count: int, members: int, seed: int) -> list[dict[str, Any]]:
    """Groups without texts."""
    generator = random.Random(seed)
    return [
        {
            "group_id": f"g{number}",
            "trajectories": [{"id": str(one), "gold": generator.gauss(0, 1)} for one in range(members)],
        }
        for number in range(count)
    ]


def judged(judge: Simulated, every: Sequence[dict[str, Any]], seed: int) -> Iterator[dict[str, Any]]:
    """What the judge says of each group in all protocols."""
    generator = random.Random(f"{judge}{seed}")
    step = 0.5 if judge.coarse else 0.1
    for group in every:
        quality = {one["id"]: one["gold"] for one in group["trajectories"]}
        for protocol, sample, order, scores in _scored(judge, quality, generator, step):
            yield _record(group, protocol, order, {"scores": scores}, sample)
        for first, second in itertools.permutations(quality, 2):
            gap = quality[first] - quality[second] + judge.leaning + generator.gauss(0, judge.noise)
            margin = 0.0 if judge.coarse and abs(gap) < 0.5 else min(max(round(gap / 0.5) / 6, -1), 1)
            winner = "tie" if margin == 0 else first if margin > 0 else second
            yield _record(group, "pairwise", [first, second], {"winner": winner, "margin": abs(margin)}, 0)


def _scored(
    judge: Simulated, quality: dict[str, float], generator: random.Random, step: float
) -> Iterator[tuple[str, int, list[str], dict[str, float]]]:
    error = judge.ratio * judge.noise / math.sqrt(2)
    names = list(quality)
    generator.shuffle(names)
    for sample in range(ORDERS):
        turn = (sample // 2) % len(names)
        order = [*names[turn:], *names[:turn]][:: -1 if sample % 2 else 1]
        falling = {name: judge.leaning * (0.5 - place / (len(order) - 1)) for place, name in enumerate(order)}
        said = {name: quality[name] + falling[name] + generator.gauss(0, error) for name in order}
        yield "listwise", sample, order, {name: round(one / step) * step for name, one in said.items()}
        alone = {name: quality[name] + generator.gauss(0, error) for name in order}
        yield "pointwise", sample, sorted(order), {name: round(one / 0.5) * 0.5 for name, one in alone.items()}


def _record(
    group: dict[str, Any], protocol: str, order: list[str], parsed: dict[str, Any], sample: int
) -> dict[str, Any]:
    calls = len(order) if protocol == "pointwise" else 1
    usage = {"input_tokens": 250 * calls + 1030 * len(order), "output_tokens": 0}
    return {
        "group_id": group["group_id"], "judge": "simulated", "mode": protocol, "order": order, "parsed": parsed,
        "sample_index": sample, "usage": usage,
    }  # fmt: skip


def listed(members: int) -> float:
    """Tokens of one call that lists a whole group."""
    return 250 + 1030 * members


@dataclass(frozen=True, slots=True)
class Outcome:
    """One setting: the true fidelity of what was recommended, of the best way allowed, of listing alone; and the
    verdict.

    ``within`` is whether the recommendation is the best or the best lies in the interval that calibrate gave it.
    """

    judge: Simulated
    groups: int
    limit: int | None
    taken: float
    best: float
    listing: float
    within: bool

    @property
    def regret(self) -> float:
        return self.best - self.taken


def outcomes(judge: Simulated, truth: int) -> list[Outcome]:
    """All settings of one judge."""
    every = groups(truth, judge.members, seed=1)
    true = calibrate(every, judged(judge, every, seed=1))
    levels = {way.name: (measures.mean_over_groups(way.fidelity) or 0.0) for way in true.ways}
    prices = {way.name: way.cost.of("tokens") or 0.0 for way in true.ways}
    found = []
    for number, count in enumerate(CALIBRATED):
        seen = groups(count, judge.members, seed=2 + number)
        said = list(judged(judge, seen, seed=2 + number))
        found += [
            _outcome(judge, calibrate(seen, said, per_group=_tokens(judge, limit)), limit, levels, prices)
            for limit in (*LIMITS, None)
        ]
    return found


def _tokens(judge: Simulated, limit: int | None) -> dict[Any, float] | None:
    return None if limit is None else {"tokens": limit * listed(judge.members)}


def _outcome(
    judge: Simulated, found: Calibration, limit: int | None, levels: dict[str, float], prices: dict[str, float]
) -> Outcome:
    choice = found.choice
    assert choice is not None  # noqa: S101 - these judges always answer
    most = math.inf if limit is None else limit * listed(judge.members) * (1 + 1e-9)
    allowed = {name: level for name, level in levels.items() if prices[name] <= most}
    taken = levels[choice.way.name]
    best = max(allowed.values())
    high = (choice.interval or (0.0, 1.0))[1]
    target = best if limit is not None else SHARE_OF_BEST * best
    listing = max(level for name, level in allowed.items() if "listwise" in name)
    return Outcome(judge, len(choice.way.fidelity), limit, taken, target, listing, taken >= target or target <= high)


def print_outcomes(every: Sequence[Outcome]) -> None:
    """Print how often the recommendation is the best, and what it loses."""
    print("\n## What calibrate recommends, held against all ways (fidelity on groups of their own)")
    print(
        "| settings | count | best or within its interval | loses at most 0.01 | mean loss | worst | listing only "
        "loses |"
    )
    print("|---|---|---|---|---|---|---|")
    splits: list[tuple[str, Callable[[Outcome], bool]]] = [("all", lambda _: True)]
    splits += [(f"{count} groups", lambda one, c=count: one.groups == c) for count in CALIBRATED]
    splits += [(f"limit {limit} calls' tokens", lambda one, x=limit: one.limit == x) for limit in LIMITS]
    splits += [("no limit: 98.5 % of the best", lambda one: one.limit is None)]
    splits += [(f"n={n}", lambda one, x=n: one.judge.members == x) for n in (4, 8)]
    splits += [(f"leaning {b}", lambda one, x=b: one.judge.leaning == x) for b in (0.0, 0.35, 1.0)]
    splits += [(f"r={r}", lambda one, x=r: one.judge.ratio == x) for r in (1.0, 1.5, 3.0)]
    splits += [("coarse", lambda one: one.judge.coarse), ("fine", lambda one: not one.judge.coarse)]
    for name, belongs in splits:
        some = [one for one in every if belongs(one)]
        if some:
            loss = [max(one.regret, 0.0) for one in some]
            print(
                f"| {name} | {len(some)} | {statistics.fmean(one.within for one in some):.1%} | "
                f"{statistics.fmean(one <= 0.01 for one in loss):.1%} | {statistics.fmean(loss):.4f} | "
                f"{max(loss):.3f} | {statistics.fmean(max(one.best - one.listing, 0.0) for one in some):.4f} |"
            )
    share = statistics.fmean(one.within for one in every)
    print(
        f"\n{'met ' if share >= 0.9 else 'MISS'} the best or within its interval in at least 90 % of settings: "
        f"{share:.1%}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truth", type=int, default=300, help="groups that true fidelity is measured on")
    parser.add_argument("--few", action="store_true", help="every ninth judge of the grid only")
    given = parser.parse_args()
    found: list[Outcome] = []
    for judge in GRID[:: 9 if given.few else 1]:
        found += outcomes(judge, given.truth)
    print_outcomes(found)


if __name__ == "__main__":
    main()
