r"""Mathematical answers compared with the one expected: ``python -m benchmarks.reading.maths [FILE.jsonl] [--show]``.

Golds by kind, each written rightly in many ways and wrongly in at least 19: how many right ones are refused, how many
wrong ones accepted, and what cannot be told. With a file (one object a line, the gold under ``answer``, as the test
sets of MATH and AIME are published) those golds instead, boxed as they stand; ``--show`` prints what was refused and
accepted.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from calipers.types import Trajectory
from calipers.verifiers import MathsEquivalence
from maths_golds import GOLDS, kind_of, near_misses, right_forms

HEAD = (
    f"{'kind':22}{'golds':>6}{'right':>8}{'refused':>9}{'unknown':>9}"
    f"{'wrong':>9}{'refused':>9}{'unknown':>9}{'ACCEPTED':>10}"
)


def met(gold: str, text: str) -> bool | None:
    return MathsEquivalence(gold)(Trajectory("a", ({"role": "assistant", "content": text},))).met


def golds_in(path: Path) -> dict[str, list[str]]:
    """Different golds of a file, by kind."""
    found: dict[str, list[str]] = {}
    for gold in dict.fromkeys(
        str(json.loads(line)["answer"]).strip() for line in path.read_text("utf-8").splitlines() if line.strip()
    ):
        if gold:
            found.setdefault(kind_of(gold), []).append(gold)
    return found


def checks(kind: str, gold: str, *, own: bool) -> Iterator[tuple[bool, str]]:
    """Texts, and whether their answer is right. Of a stranger's gold only what holds for every kind is written."""
    forms = list(right_forms(kind, gold))
    yield from ((True, text) for text in (forms if own else forms[:5]))
    yield from ((False, f"It is $\\boxed{{{wrong}}}$.") for wrong in near_misses(kind, gold))


def main(arguments: list[str]) -> int:
    files = [Path(one) for one in arguments if not one.startswith("--")]
    golds = golds_in(files[0]) if files else {kind: list(several) for kind, several in GOLDS.items()}
    totals: Counter[tuple[bool, bool | None]] = Counter()
    told, number, start = [], 0, time.perf_counter()
    print(HEAD)
    for kind, several in sorted(golds.items()):
        counts: Counter[tuple[bool, bool | None]] = Counter()
        for gold in several:
            for right, text in checks(kind, gold, own=not files):
                verdict = met(gold, text)
                counts[right, verdict] += 1
                if verdict is not right and (right or verdict):
                    told.append(f"{'REFUSED ' if right else 'ACCEPTED'} {gold}   {text!r}")
        totals += counts
        number += len(several)
        print(row(kind, len(several), counts))
    print(row("all", number, totals))
    seconds = time.perf_counter() - start
    print(f"{sum(totals.values())} comparisons, {seconds / sum(totals.values()) * 1e3:.2f} ms each")
    if "--show" in arguments:
        print("\n".join(told))
    return 1 if totals[False, True] or totals[True, False] or totals[True, None] else 0


def row(kind: str, golds: int, counts: Counter[tuple[bool, bool | None]]) -> str:
    right = (counts[True, True], counts[True, False], counts[True, None])
    wrong = (
        sum(counts[False, one] for one in (True, False, None)),
        counts[False, False],
        counts[False, None],
        counts[False, True],
    )
    return f"{kind:22}{golds:6}{right[0]:8}{right[1]:9}{right[2]:9}{wrong[0]:9}{wrong[1]:9}{wrong[2]:9}{wrong[3]:10}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
