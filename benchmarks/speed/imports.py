"""What an import costs, in seconds and MB, calipers beside openpipe-art.

    python -m benchmarks.speed.imports [--repeats 9]

A fresh interpreter each time, in turns, with compiled modules, as every start but the first has them. Seconds are wall
time of the import alone; MB is the peak resident size of the process, the interpreter's own included (Linux).
``calipers.Judge`` is what a training script goes on to touch; ``a judge`` is ``import asyncio`` and one made, which is
what it needs in the end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from statistics import median

from benchmarks.speed.spine import art_python, verdict

MEASURE = """
import time
started = time.perf_counter()
{statement}
seconds = time.perf_counter() - started
for line in open("/proc/self/status"):
    if line.startswith("VmHWM"):
        print(seconds, int(line.split()[1]) / 1024)
"""
STATEMENTS = {
    "nothing": "pass",
    "calipers": "import calipers",
    "calipers.Judge": "import calipers; calipers.Judge",
    "asyncio": "import asyncio",
    "a judge": "import asyncio, calipers; calipers.Judge('vllm/m', base_url='http://127.0.0.1:1/v1')",
    "openpipe-art": "import art; from art.rewards import ruler_score_group",
}


def cost(python: str, statement: str) -> tuple[float, float]:
    """Seconds and MB of one import in a fresh interpreter."""
    run = subprocess.run(  # noqa: S603 - ours
        [python, "-c", MEASURE.format(statement=statement)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONDONTWRITEBYTECODE": ""},
    )
    seconds, size = run.stdout.split()[-2:]
    return float(seconds), float(size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--art-python")
    options = parser.parse_args()
    art = art_python(options.art_python)
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in STATEMENTS}
    for repeat in range(options.repeats + 1):
        for name, statement in STATEMENTS.items():
            measured = cost(art if name == "openpipe-art" else sys.executable, statement)
            if repeat:  # the first one only warms the disk cache
                costs[name].append(measured)
    print(f"load {os.getloadavg()[0]:.1f}; medians of {options.repeats}")
    print(f"{'import':<16}{'seconds':>9}{'MB':>8}")
    medians = {name: tuple(median(column) for column in zip(*found, strict=True)) for name, found in costs.items()}
    for name, (seconds, size) in medians.items():
        print(f"{name:<16}{seconds:>9.3f}{size:>8.1f}")
    seconds, size = medians["calipers"]
    print(verdict("seconds of import calipers", seconds, 0.2, at_least=False))
    print(verdict("MB after import calipers", size, 40, at_least=False))
    more = median(one[0] - other[0] for one, other in zip(costs["a judge"], costs["asyncio"], strict=True))
    print(verdict("seconds of making a judge, over import asyncio", more, 0.15, at_least=False))


if __name__ == "__main__":
    main()
