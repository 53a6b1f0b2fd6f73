"""Groups a second and CPU a group, side by side with openpipe-art's RULER and with a bare aiohttp loop.

    python -m benchmarks.speed.spine [--repeats 5] [--art-python PYTHON] [--tools]

Groups of four trajectories of 2 kB, one order, one call a group, ledger on. All ask the same loopback judge, which
answers after 50 ms. One process a measurement; the clients take turns, and ratios are between neighbours in time, so
that a busy machine slows both sides of each. Groups are made before the clock starts. ``--art-python`` (or
CALIPERS_ART_PYTHON) is an interpreter with openpipe-art; without one, a virtual environment is made in ``.venv-art``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.environment import ROOT
from benchmarks.judge_server import running_judge, stats

ART = "openpipe-art>=0.5.17,<0.6"
COUNTS = {"calipers": 3000, "aiohttp": 3000, "art": 600}
IN_FLIGHT = (64, 256)


@dataclass(frozen=True, slots=True)
class Measured:
    """One client's run: groups a second, CPU in ms a group, and the judge's own CPU in ms a question."""

    rate: float
    cpu: float
    judge: float


def art_python(given: str | None) -> str:
    """An interpreter with openpipe-art: the one given, the environment's, or one made for it."""
    chosen = given or os.environ.get("CALIPERS_ART_PYTHON")
    if chosen:
        return chosen
    folder = ROOT / ".venv-art"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)  # noqa: S603 - ours
    if subprocess.run([str(python), "-c", "import art.rewards"], capture_output=True, check=False).returncode:  # noqa: S603 - the caller names it
        print(f"installing {ART} into .venv-art (once; about 550 MB)", file=sys.stderr)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", ART], check=True)  # noqa: S603 - the caller names it
    return str(python)


def measure(
    client: str, url: str, *, in_flight: int, art: str, text: str = "prose", groups: int | None = None
) -> Measured:
    """One run of one client in a process of its own, over as many ``groups`` of a ``text`` (``real_text``)."""
    module = (
        [art, "-m", "benchmarks.speed.art_client"]
        if client == "art"
        else [sys.executable, "-m", "benchmarks.speed.clients", client]
    )
    options = ["--url", url, "--in-flight", str(in_flight), "--groups", str(groups or COUNTS[client])]
    before = stats(url)
    run = subprocess.run(  # noqa: S603 - ours
        [*module, *options, "--text", text], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if run.returncode:
        sys.exit(f"{client} failed:\n{run.stderr[-2000:]}")
    after = stats(url)
    said = json.loads(run.stdout.splitlines()[-1])
    judge = (after["cpu"] - before["cpu"]) / (after["answered"] - before["answered"])
    return Measured(said["groups"] / said["seconds"], 1e3 * said["cpu"] / said["groups"], 1e3 * judge)


def show(in_flight: int, runs: dict[str, list[Measured]]) -> None:
    for client, measured in runs.items():
        rate, cpu, judge = (median(getattr(one, name) for one in measured) for name in ("rate", "cpu", "judge"))
        low, high = min(one.rate for one in measured), max(one.rate for one in measured)
        spread = f"({low:.0f}-{high:.0f})"
        print(f"{in_flight:>9}  {client:<10}{rate:>9.0f}  {spread:<14}{cpu:>12.2f}{judge:>16.3f}")


def verdict(name: str, value: float, target: float, *, at_least: bool) -> str:
    """One line: what was measured, what is asked for, and whether it is met."""
    met = value >= target if at_least else value <= target
    return f"{'met ' if met else 'MISS'}  {name}: {value:.2f} (target: {'>=' if at_least else '<='} {target:g})"


def ratios(ours: Sequence[Measured], theirs: Sequence[Measured]) -> float:
    """The median of our rate over theirs, pair by pair."""
    return median(one.rate / other.rate for one, other in zip(ours, theirs, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--art-python")
    parser.add_argument("--tools", action="store_true", help="groups with a tool call in every trajectory")
    options = parser.parse_args()
    art = art_python(options.art_python)
    results: dict[int, dict[str, list[Measured]]] = {}
    print(
        f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {options.repeats} repeats, medians (range)"
    )
    print(f"in flight  client     groups/s  {'':14}CPU ms/group   judge CPU ms/q")
    with running_judge() as url:
        for in_flight in IN_FLIGHT:
            results[in_flight] = {client: [] for client in COUNTS}
            for _ in range(options.repeats):
                for client, measured in results[in_flight].items():
                    measured.append(
                        measure(client, url, in_flight=in_flight, art=art, text="tools" if options.tools else "prose")
                    )
            show(in_flight, results[in_flight])
    few, many = (results[in_flight] for in_flight in IN_FLIGHT)
    print(f"load after: {os.getloadavg()[0]:.1f}")
    print(verdict("groups/s over ART's at 256", ratios(many["calipers"], many["art"]), 6, at_least=True))
    print(verdict("groups/s over bare aiohttp's at 64", ratios(few["calipers"], few["aiohttp"]), 0.85, at_least=True))
    cpu = median(one.cpu for one in many["calipers"])
    print(verdict("CPU ms a group at 256, ledger included", cpu, 0.6, at_least=False))


if __name__ == "__main__":
    main()
