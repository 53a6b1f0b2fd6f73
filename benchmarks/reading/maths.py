r"""Mathematical answers compared with the expected one: ``python -m benchmarks.reading.maths [--show]``.

Golds as public sets carry them (``tests/fixtures/maths.jsonl``), written rightly in many ways and wrongly in at least
19: how many right ones are refused, how many wrong ones met, and how many are unknown. ``--show`` prints what was
refused or met. The comparison runs in this process, with an alarm in place of the sandbox's clock. Needs
``calipers[maths]``. The exit code is 1 if a right answer is refused, a wrong one met, or too many are unknown.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections import Counter, defaultdict

from benchmarks.environment import ROOT
from calipers.verifiers.maths import stated_answer
from calipers.verifiers.maths_comparison import compare

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


def main(arguments: list[str]) -> int:
    """Print a row for each kind, and all."""
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    kinds: dict[str, Counter[tuple[bool, bool | None]]] = defaultdict(Counter)
    for line in (ROOT / "tests/fixtures/maths.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        texts = [(True, text) for text in row["right"]]
        texts += [(False, f"It is $\\boxed{{{wrong}}}$.") for wrong in row["wrong"]]
        for right, text in texts:
            verdict = met(row["gold"], text)
            kinds[row["kind"]][right, verdict] += 1
            if "--show" in arguments and verdict is (not right):
                print(f"{'REFUSED' if right else 'MET'} {row['gold']}   {text!r}")
    for kind, counts in sorted(kinds.items()):
        print_row(kind, counts)
    total = sum(kinds.values(), Counter[tuple[bool, bool | None]]())
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
