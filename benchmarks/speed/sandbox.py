"""Rule functions given as source text: checks a second in the sandbox, and what a check costs.

Run ``python -m benchmarks.speed.sandbox``. A thousand checks of different rules on different responses, each in a
confined process of its own, in batches as a trainer brings them; then one at a time. CPU is told beside the time by the
clock, which moves with whatever else the machine does.
"""

from __future__ import annotations

import os
import resource
import sys
import time

from calipers.verifiers import RuleFunction, Sandbox, check_rules

CHECKS = 1000
TARGET = 10
RULES = [
    (
        "import re\n\ndef check_following(instruction, response):\n    return bool(re.search(r'\\briver\\b', response, "
        "re.IGNORECASE))"
    ),
    "def check_following(instruction, response):\n    return len(response.split()) >= 100",
    "def check_following(response):\n    return '?' not in response",
    (
        "import re\n\ndef check_following(response):\n    return len(re.findall(r'^\\s*[-*] ', response, "
        "re.MULTILINE)) == 3"
    ),
]
RESPONSES = ["The river rose on Monday. " * repeats for repeats in (1, 10, 100)]


def main() -> int:
    """Print what was found; the exit code is 1 when a check had no verdict."""
    if sys.platform != "linux":
        print("the sandbox confines code on Linux only")
        return 0
    pairs = [(RuleFunction(RULES[n % len(RULES)]), RESPONSES[n % len(RESPONSES)]) for n in range(CHECKS)]
    with Sandbox() as sandbox:
        start = time.perf_counter()
        print(f"layers: {', '.join(sandbox.layers)}")
        print(f"start: {time.perf_counter() - start:.2f} s; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        here, start = time.process_time(), time.perf_counter()
        verdicts = check_rules(pairs, sandbox=sandbox)
        seconds = time.perf_counter() - start
        here = time.process_time() - here
        print(
            f"{CHECKS:,} checks: {seconds:.2f} s by the clock, {here / CHECKS * 1e3:.2f} ms CPU a check in this process"
        )
        start = time.perf_counter()
        for pair in pairs[:100]:
            check_rules([pair], sandbox=sandbox)
        print(f"one at a time: {(time.perf_counter() - start) * 10:.1f} ms a check")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # the server's and, through it, its children's
    print(f"sandbox: {(used.ru_utime + used.ru_stime) / (CHECKS + 100) * 1e3:.2f} ms CPU a check, server and children")
    print(
        f"{'met' if seconds < TARGET else 'MISS'}: {CHECKS:,} checks in under {TARGET} s on two cores: {seconds:.2f} s"
    )
    print(f"without a verdict: {sum(verdict.met is None for verdict in verdicts)}")
    return int(any(verdict.met is None for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
