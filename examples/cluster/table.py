"""Print the arms' scores on held-out prompts, and their differences from the first arm, paired by seed.

    python table.py ARM...

Reads results/ARM-SEED.scores.jsonl, which evaluate.sh writes. With one seed there is no interval, and a difference may
come from the seed alone.
"""

import json
import statistics
import sys
from pathlib import Path

from calipers.study.intervals import Estimate, estimate, paired_difference


def scores_of(arm: str) -> dict[str, float]:
    """Return the mean score of each of an arm's runs by its seed; answers without a score are counted on stderr."""
    found = {}
    for path in sorted(Path("results").glob(f"{arm}-*.scores.jsonl")):
        groups = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        values = [one["score"] for group in groups for one in group["trajectories"]]
        scored = [one for one in values if one is not None]
        if len(scored) < len(values):
            print(f"{path}: {len(values) - len(scored)} of {len(values)} answers have no score", file=sys.stderr)
        if scored:
            found[path.name.removeprefix(f"{arm}-").removesuffix(".scores.jsonl")] = statistics.fmean(scored)
    return found


def shown(found: Estimate) -> str:
    """Return a mean with half the width of its 95 % interval."""
    return f"{found.mean:.3f}" + ("" if found.half_width is None else f" ± {found.half_width:.3f}")


def main(arms: list[str]) -> None:
    """Print a line for each arm."""
    first = scores_of(arms[0])
    for arm in arms:
        own = scores_of(arm)
        both = sorted(own.keys() & first.keys())
        line = f"{arm}: {shown(estimate(list(own.values())))} ({len(own)} seeds)" if own else f"{arm}: no results"
        if arm != arms[0] and both:
            gap = paired_difference([own[one] for one in both], [first[one] for one in both])
            line += f", less {arms[0]}: {shown(gap)}"
        print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
