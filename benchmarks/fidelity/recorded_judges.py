"""How close rewards come to gold on recorded judges (run: python -m benchmarks.fidelity.recorded_judges).

Needs the recorded data beside the repository or at CALIPERS_DATA (sources: fidelity_data.py). Prints single calls,
plain averaging and what calipers does next to each other, with 95 % intervals, and which targets are reached.
Thresholds are chosen on one half of the groups and reported on the other. Takes about two minutes.
"""

from __future__ import annotations

import itertools
import random
import sys
import time

from benchmarks.environment import recorded_data
from benchmarks.fidelity import panels, sampling
from benchmarks.fidelity.data import Target
from calipers.aggregators.bradley_terry import BradleyTerry
from calipers.calibration import calibrate
from calipers.types import Comparison


def speed() -> list[Target]:
    """CPU time of the aggregator and the calibration, which wait for nothing."""
    generator = random.Random(0)
    pairs = itertools.permutations(range(8), 2)
    group = [Comparison(one, other, generator.choice((-1.0, 0.0, 0.5, 1.0)), n) for n, (one, other) in enumerate(pairs)]
    fit, started = BradleyTerry(), time.process_time()
    for _ in range(200):
        fit(group, 8)
    milliseconds = (time.process_time() - started) / 200 * 1e3
    started = time.process_time()
    calibrate(recorded_data() / "rb2_k8" / "groups.jsonl.gz", recorded_data() / "rb2_k8" / "judgments.jsonl.gz")
    seconds = time.process_time() - started
    return [
        Target(
            "a group of 8 with 56 comparisons aggregates in under 1 ms",
            milliseconds < 1,
            f"{milliseconds:.2f} ms of CPU",
        ),
        Target("50,000 recorded judgments calibrate in under 30 s", seconds < 30, f"56,848 in {seconds:.1f} s of CPU"),
    ]


def main() -> None:
    """Print all tables, then the targets."""
    if not recorded_data().is_dir():
        print(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
        return
    targets = [*sampling.report(), *panels.report()]
    targets += speed()
    print("\n## Targets")
    for one in targets:
        print(f"{'reached    ' if one.reached else 'NOT REACHED'}  {one.text}: {one.measured}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
