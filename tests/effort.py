"""How much work something is, told without a clock of the world: a busy or a slow machine changes nothing.

Work is measured in CPU time of this thread, and compared with other work of the same process: with the same thing on
less input, or with a piece of plain Python that takes some milliseconds everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_TIMES = 8


def spent(work: Callable[[], object], *, tries: int = 3) -> float:
    """The least CPU seconds that ``work`` took."""
    taken = []
    for _ in range(tries):
        began = time.thread_time()
        work()
        taken.append(time.thread_time() - began)
    return min(taken)


def reference() -> float:
    """CPU seconds of some 10 ms of plain Python, here and now."""
    return spent(_plain_work)


def in_proportion(work: Callable[[int], Callable[[], object]], size: int) -> None:
    """Assert that eight times the input is about eight times the work, and no square: ``work(size)`` is what is
    done.
    """
    few, many = spent(work(size // _TIMES)), spent(work(size))
    assert many < 3 * _TIMES * max(few, reference() / 20), f"{few:.4f} s for an eighth, {many:.4f} s for all"


def at_most(times: float, work: Callable[[], object]) -> None:
    """Assert that ``work`` is at most so many ``reference()``s."""
    assert spent(work) < times * max(reference(), reference())


def _plain_work() -> int:
    total = 0
    for number in range(150_000):
        total = (total * 31 + number) % 1_000_003
    return total
