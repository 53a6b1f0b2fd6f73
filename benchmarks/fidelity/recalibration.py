"""How often a recalibration's alarm is false, and how soon it notices that a judge's fidelity has fallen.

    python -m benchmarks.fidelity.recalibration [--runs 100] [--falls 0.3]

A group's fidelity is normal with a standard deviation of 0.35 and a mean of 0.7, which is also the calibration's. 100
groups are compared, then 150 more with a mean that is lower by ``--falls``; the alarm is looked at after each.
"""

from __future__ import annotations

import argparse
import random
from collections import deque
from statistics import median

from calipers.aggregators.betting import upper_bound
from calipers.judging.recalibration import LEAST_GROUPS

CALIBRATED, SPREAD, DROP, WINDOW = 0.7, 0.35, 0.1, 64
BEFORE, AFTER = 100, 150


def first_alarm(falls: float, seed: int) -> int | None:
    """The number of the compared group at which the alarm begins; None if it does not."""
    drawn = random.Random(seed)
    window: deque[float] = deque(maxlen=WINDOW)
    for number in range(BEFORE + AFTER):
        mean = CALIBRATED - (falls if number >= BEFORE else 0.0)
        window.append((1 + max(-1.0, min(1.0, drawn.gauss(mean, SPREAD)))) / 2)
        if len(window) >= LEAST_GROUPS and 2 * upper_bound(list(window)) - 1 < CALIBRATED - DROP:
            return number
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--falls", type=float, default=0.3)
    given = parser.parse_args()
    for falls in (0.0, given.falls):
        found = [at for seed in range(given.runs) if (at := first_alarm(falls, seed)) is not None]
        late = [at - BEFORE for at in found if at >= BEFORE]
        when = f", in the median {median(late):.0f} compared groups later" if falls and late else ""
        print(f"fidelity falls by {falls:g}: {len(found)} of {given.runs} runs raise the alarm{when}")


if __name__ == "__main__":
    main()
