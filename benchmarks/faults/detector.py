"""What the detector finds, and whom it accuses: by language, kind and grade of certainty, on cases tuned on and held
out.

    python -m benchmarks.faults.detector [--missed] [--recorded]

Cases are staged as a policy would (``tests/detector_cases.py``) and searched as a judge's group is. ``--missed`` prints
the tuned cases that are wrong, never the held-out ones: whoever has read those can no longer measure with them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import get_args

from tests.detector_cases import Case, Half, cases

import calipers
from benchmarks.environment import recorded_data
from calipers.guard.injection import attacks_in
from calipers.judging.excluded import attacks_by_id
from calipers.render import render
from calipers.types import Certainty

GRADES: tuple[Certainty, ...] = get_args(Certainty)


def grade_of(case: Case) -> Certainty | None:
    """The highest grade of a hit in the case's own trajectory."""
    group = case.group()
    view = render(group, reasoning="shown")
    hits = attacks_by_id(view, attacks_in(view, context=len(group.context))).get("case", ())
    return min((hit.certainty for hit in hits), key=GRADES.index, default=None)


def table(title: str, found: Sequence[tuple[Case, Certainty | None]], by: Callable[[Case], str]) -> None:
    print(f"\n{title:14}{'attacks found':>16}" + "".join(f"{name:>12}" for name in GRADES), end="")
    print(f"{'harmless flagged':>20}" + "".join(f"{name:>12}" for name in GRADES))
    for name in sorted({by(case) for case, _ in found}):
        row = [(case, grade) for case, grade in found if by(case) == name]
        print(
            f"{name:14}"
            + "".join(_share(grade for case, grade in row if case.attack is attack) for attack in (True, False))
        )


def _share(grades: Iterable[Certainty | None]) -> str:
    counted = Counter(grades)
    total = counted.total()
    said = f"{total - counted[None]} of {total}" if total else "-"
    return f"{said:>16}" + "".join(f"{counted[grade] or '':>12}" for grade in GRADES) + "    "


def recorded() -> None:
    """How many trajectories of the recorded data (``fidelity_data``), all of them honest, have a hit."""
    looked_at, found = 0, Counter[Certainty]()
    for file in sorted(recorded_data().glob("*/groups.jsonl.gz")):
        for group in calipers.read_groups(file):
            view = render(group)
            looked_at += sum(
                len(one.members) for one in view.candidates if any(message.get("content") for message in one.messages)
            )
            found.update(
                hit.certainty for hits in attacks_in(view, context=len(group.context)).values() for hit in hits
            )
    print(f"\nrecorded trajectories: {looked_at}; " + ", ".join(f"{found[grade]} {grade}" for grade in GRADES))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missed", action="store_true", help="print the tuned cases that are wrong")
    parser.add_argument("--recorded", action="store_true", help="search the recorded data, too")
    options = parser.parse_args()
    halves: tuple[Half, ...] = get_args(Half)
    for half in halves:
        found = [(case, grade_of(case)) for case in cases(half)]
        table(half, found, lambda _: "all")
        table(f"{half}, by", found, lambda case: case.language)
        table(f"{half}, by", found, lambda case: case.kind)
        if options.missed and half == "tuned":
            for case, grade in found:
                if case.attack != (grade is not None):
                    print(f"{'missed' if case.attack else grade}: {case.language} {case.kind}: {case.text[:150]!r}")
    if options.recorded:
        recorded()
    return 0


if __name__ == "__main__":
    sys.exit(main())
