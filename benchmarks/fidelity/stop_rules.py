"""How often a watched run's default stop rules are broken by chance, and how soon by a gap that grows.

    python -m benchmarks.fidelity.stop_rules [--runs 400] [--growth 0.3]

A run has an audit of 8 groups every 10 of 350 steps, and rules are looked at after each. A group's gap and fidelity are
normal, with standard deviations of 0.15 and 0.5; fidelity is 0.4 on average.
"""

from __future__ import annotations

import argparse
import random
from statistics import median

from calipers.study.watching import ALARMS, WatchedGroup
from calipers.study.watching.rules import BrokenRule, broken_rules

STEPS, EVERY, SAMPLE = 350, 10, 8


def first_broken(growth: float, seed: int) -> BrokenRule | None:
    """The first rule that a run breaks whose gap grows by ``growth`` until its end; None if there is none."""
    drawn = random.Random(seed)
    groups: list[WatchedGroup] = []
    for step in range(0, STEPS, EVERY):
        for number in range(SAMPLE):
            gap, fidelity = drawn.gauss(growth * step / STEPS, 0.15), drawn.gauss(0.4, 0.5)
            groups.append(
                WatchedGroup(
                    step=step, split="train", group=str(number), size=8, missing=0.0, characters=100.0,
                    audit_gap=gap, audit_fidelity=fidelity,
                )
            )  # fmt: skip
        broken = next(broken_rules(groups, (), ALARMS), None)
        if broken is not None:
            return broken
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--growth", type=float, default=0.3)
    given = parser.parse_args()
    for growth in (0.0, given.growth):
        found = [first_broken(growth, seed) for seed in range(given.runs)]
        steps = [one.step for one in found if one is not None]
        when = f", in the median at step {median(steps):.0f}" if steps else ""
        print(f"gap grows by {growth:g}: {len(steps)} of {given.runs} runs break a rule{when}")


if __name__ == "__main__":
    main()
