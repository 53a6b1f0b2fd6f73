"""Mutation testing: whether a test fails when the code is changed a little.

    python -m scripts.mutants [--count 800] [--seed 1] [--workers 1] [--room replies ...] [--again]

Why not a tool that exists (looked at in versions mutmut 3.8 and cosmic-ray 8.7, both maintained): mutmut changes
function bodies alone, through trampolines it writes for every function of the package (47,000 mutants here), and draws
no sample; cosmic-ray starts a fresh test command for each mutant, which takes seconds for the imports alone, and knows
neither which tests reach a line nor what a room is. Here a mutant is a forked child of a process that has imported
everything but calipers, and runs only the tests that execute the mutated line, the nearest and cheapest first.

Writes out/mutants.json and out/mutants.md. What runs longer than it should counts as killed.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import sys
import time
from dataclasses import asdict
from pathlib import Path

from . import forks
from .cover import FOLDERS, Cover, Uses, collect
from .report import Outcome, markdown, survivor
from .sample import ROOMS, Mutant, declared, mutants, sample
from .trial import Plan, plan, tried

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out"
COVER = OUT / "mutants-cover.pickle"
_CONTROLS = 10


def main() -> int:
    """Draw a sample, try each mutant, write the tables; 1 where fewer than ``--least`` of them were killed."""
    options = _options()
    OUT.mkdir(exist_ok=True)
    os.chdir(ROOT)
    forks.warm()
    drawn = _drawn(options)
    equivalent = declared(Path(__file__).with_name("equivalent.toml"))
    cover = _cover(options)
    uses = Uses(ROOT)
    plans = {one: plan(one, cover, uses) for one in drawn if one.key not in equivalent}
    began = time.monotonic()
    outcomes = [Outcome(one, "equivalent", equivalent[one.key]) for one in drawn if one.key in equivalent]
    for outcome in tried(ROOT, plans, options.workers):
        outcomes.append(outcome)
        if outcome.alive:
            _progress(f"{survivor(outcome)}\n")
        _progress(f"{len(outcomes)}/{len(drawn)} mutants, {_survived(outcomes)} survived")
    controls = _controls(plans, options)
    seconds = time.monotonic() - began
    outcomes.sort(key=lambda one: (list(ROOMS).index(one.mutant.room), one.mutant.path, one.mutant.number))
    title = f"{len(drawn)} mutants, seed {options.seed}, {seconds / 60:.0f} minutes, {options.workers} at a time"
    text = markdown(title, outcomes, controls, cover.left_out)
    (OUT / "mutants.md").write_text(text, encoding="utf-8")
    (OUT / "mutants.json").write_text(json.dumps([asdict(one) for one in outcomes], indent=1), encoding="utf-8")
    print(f"\n{text}")
    judged = [one for one in outcomes if one.fate != "equivalent"]
    return 0 if _survived(outcomes) <= (1 - options.least / 100) * len(judged) and not controls else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants", description="Mutation testing of pure code.")
    parser.add_argument("--count", type=int, default=800, help="mutants to draw (800)")
    parser.add_argument("--seed", type=int, default=1, help="what the sample is drawn with (1)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="mutants at a time (one a CPU)")
    parser.add_argument("--least", type=float, default=95, help="percent that must be killed for exit status 0 (95)")
    parser.add_argument("--room", action="append", choices=list(ROOMS), help="only mutants of this room; repeatable")
    parser.add_argument("--again", action="store_true", help="only the survivors of out/mutants.json")
    parser.add_argument("--file", action="append", help="every mutant of the files whose path holds this; repeatable")
    parser.add_argument("--near", action="store_true", help="with --room: use the tests of that room alone")
    parser.add_argument("--stale", action="store_true", help="use the map of tests of the last run for unchanged files")
    return parser.parse_args()


def _drawn(options: argparse.Namespace) -> list[Mutant]:
    all_of = list(mutants(ROOT))
    if options.again:
        last = json.loads((OUT / "mutants.json").read_text(encoding="utf-8"))
        keys = {_key(one["mutant"]) for one in last if one["fate"] in ("survived", "not reached")}
        drawn = [one for one in all_of if _key(asdict(one)) in keys]
    elif options.file:
        drawn = [one for one in all_of if any(part in one.path for part in options.file)]
    else:
        drawn = sample(all_of, options.count, options.seed)
    return [one for one in drawn if not options.room or one.room in options.room]


def _key(mutant: dict[str, str]) -> tuple[str, ...]:
    return tuple(mutant[name] for name in ("path", "place", "statement", "before", "after"))


def _cover(options: argparse.Namespace) -> Cover:
    last: Cover | None = None
    if options.stale and COVER.exists():
        last = pickle.loads(COVER.read_bytes())  # noqa: S301 - written below
    cover = collect(ROOT, options.room if options.near else FOLDERS, options.workers, _progress, last)
    COVER.write_bytes(pickle.dumps(cover))
    return cover


def _controls(plans: dict[Mutant, Plan], options: argparse.Namespace) -> list[str]:
    """Tests that fail although nothing was changed, for some of the plans: there should be none."""
    draw = random.Random(options.seed)  # noqa: S311 - a seeded draw
    some = draw.sample(list(plans), min(_CONTROLS, len(plans)))
    return [one.by for one in tried(ROOT, {one: plans[one] for one in some}, options.workers, mutate=False) if one.by]


def _survived(outcomes: list[Outcome]) -> int:
    return sum(one.alive for one in outcomes)


def _progress(line: str) -> None:
    print(f"\r\033[K{line}" if sys.stdout.isatty() else line, end="" if sys.stdout.isatty() else "\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
