"""Makes an object only once a process for the same arguments, even if several threads ask for it at the same moment.

With ``functools.lru_cache``, every thread that asks before the first thread is done makes its own object. So each of a
step's first rollouts would get its own judge, and a limit on calls, a budget or a count of lost groups would not cover
them together.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def once_per_process(*, maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that caches a trainer's objects for the latest ``maxsize`` different arguments.

    A forked child starts with its parent's results, and does not wait for its parent's threads.
    """

    def decorate(make: Callable[P, R]) -> Callable[P, R]:
        cached = lru_cache(maxsize=maxsize)(make)
        locks = [threading.RLock()]
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: locks.__setitem__(0, threading.RLock()))

        @wraps(make)
        def made(*arguments: P.args, **named: P.kwargs) -> R:
            with locks[0]:
                return cached(*arguments, **named)  # type: ignore[arg-type]  # unhashable arguments are a TypeError there

        return made

    return decorate
