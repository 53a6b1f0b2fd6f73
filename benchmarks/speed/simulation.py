"""How fast ``calipers study simulate`` computes, and in how much memory.

    python -m benchmarks.speed.simulation [--runs 500] [--steps 200]

Steps are of 64 groups of 8. Ten kinds of arms share the runs: the costly parts are those that look at pairs of
responses (ranks, near ties), several iterations, and penalties on the divergence. One process, one thread; the result
file is made, too. Rates are per second of CPU, because a busy machine changes the others; both are printed.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import resource
import time

from benchmarks.speed.spine import verdict
from calipers.study.simulation import simulate
from calipers.study.simulation.configuration import simulation_from
from calipers.types.encoding import to_json

ARMS = {
    "plain": {},
    "position bias, in order of arrival": {"judge": {"slope": -0.5}, "asking": {"order": "arrival"}},
    "two orders": {"judge": {"slope": -0.5}, "asking": {"order": "arrival", "orders": 2}},
    "failures": {"judge": {"failures": 0.1, "failures_by_length": 1.0}, "treatment": {"failures": "zero"}},
    "ten criteria": {"policy": {"criteria": 10}},
    "panel of three": {"panel": [{}, {"flattery": 0.2}, {"length": 0.1}]},
    "ranks": {"treatment": {"reward": "rank"}},
    "ties": {"treatment": {"ties": 1.0}},
    "length control": {"judge": {"length": 0.1}, "treatment": {"length_control": 0.5}},
    "four iterations, divergence penalty": {"grpo": {"iterations": 4, "kl": 0.05}},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    seeds = max(1, options.runs // len(ARMS))
    began, used, made = time.perf_counter(), time.process_time(), 0
    for name, tables in ARMS.items():
        before = time.process_time()
        arm = {"name": name, **tables, "judge": {"noise": 0.5, **tables.get("judge", {})}}
        content = {"arms": [arm], "seeds": seeds, "steps": options.steps}
        result, _ = simulate(simulation_from(content, source="benchmark"))
        size = len(to_json(result))
        rate = seeds * options.steps / (time.process_time() - before)
        made += seeds * options.steps
        print(f"{name:<40} {rate:>8,.0f} steps/s of CPU, {size / 2**20:>5.1f} MB of results", flush=True)
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{seeds * len(ARMS)} runs: {wall:.1f} s, {cpu:.1f} s of CPU, {made / wall:,.0f} a second")
    print(verdict("steps a second of CPU", made / cpu, 2000, at_least=True))
    print(verdict("seconds of CPU for 500 runs of 200 steps", cpu * 100_000 / made, 60, at_least=False))
    print(verdict("MB at the most", peak, 500, at_least=False))


if __name__ == "__main__":
    main()
