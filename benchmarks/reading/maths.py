r"""Mathematical answers compared with the expected one: ``python -m benchmarks.reading.maths [FILE.jsonl] [--show]``.

Every second gold of each kind, written rightly in many ways and wrongly in at least 19: how many right ones are
refused, how many wrong ones met, and how many are unknown. With a file (one object a line, the gold under ``answer``,
as the test sets of MATH and AIME are published) those golds instead, boxed as they stand. ``--show`` prints what was
refused or met. The comparison runs in this process, with an alarm in place of the sandbox's clock. Needs
``calipers[maths]``. The exit code is 1 if a right answer is refused, a wrong one met, or too many are unknown.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from calipers.verifiers.maths import stated_answer
from calipers.verifiers.maths_comparison import compare
from maths_golds import GOLDS, kind_of, near_misses, right_forms

_SECONDS = 3
_LEAST_RIGHT, _LEAST_WRONG = 0.95, 0.80


def met(gold: str, text: str) -> bool | None:
    """The verdict; None also for a comparison that takes too long or fails."""
    signal.alarm(_SECONDS)
    try:
        return compare(gold, stated_answer(text))[0]
    except Exception:  # noqa: BLE001 - in the sandbox, any failure is no verdict
        return None
    finally:
        signal.alarm(0)


def golds_in(path: Path) -> dict[str, list[str]]:
    """Different golds of a file, by kind."""
    found: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        gold = str(json.loads(line)["answer"]).strip()
        found.setdefault(kind_of(gold), []).append(gold)
    return {kind: list(dict.fromkeys(several)) for kind, several in found.items()}


def checks(kind: str, gold: str, *, own: bool) -> Iterator[tuple[bool, str]]:
    """Texts, and whether their answer is right. Of a stranger's gold only what holds for every kind is written."""
    forms = list(right_forms(kind, gold))
    yield from ((True, text) for text in (forms if own else forms[:5]))
    yield from ((False, f"It is $\\boxed{{{wrong}}}$.") for wrong in near_misses(kind, gold))


def main(arguments: list[str]) -> int:
    """Print a row for each kind, and all."""
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    files = [Path(one) for one in arguments if not one.startswith("--")]
    golds = golds_in(files[0]) if files else {kind: list(several[::2]) for kind, several in GOLDS.items()}
    total: Counter[tuple[bool, bool | None]] = Counter()
    for kind, several in sorted(golds.items()):
        counts: Counter[tuple[bool, bool | None]] = Counter()
        for gold in several:
            for right, text in checks(kind, gold, own=not files):
                verdict = met(gold, text)
                counts[right, verdict] += 1
                if "--show" in arguments and verdict is (not right):
                    print(f"{'REFUSED' if right else 'MET'} {gold}   {text!r}")
        print_row(kind, counts)
        total += counts
    print_row("all", total)
    shares = [1 - total[right, None] / sum(total[right, one] for one in (True, False, None)) for right in (True, False)]
    return 1 if total[True, False] or total[False, True] or shares[0] < _LEAST_RIGHT or shares[1] < _LEAST_WRONG else 0


def print_row(kind: str, counts: Counter[tuple[bool, bool | None]]) -> None:
    """Print the counts of right and of wrong answers."""
    right, wrong = ([counts[one, verdict] for verdict in (True, False, None)] for one in (True, False))
    print(f"{kind:22} right: met {right[0]}, refused {right[1]}, unknown {right[2]}; "
          f"wrong: refused {wrong[1]}, met {wrong[0]}, unknown {wrong[2]}", flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
