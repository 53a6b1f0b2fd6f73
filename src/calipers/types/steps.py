"""Long work in steps, between which its caller may do something else.

A function in steps is a generator: it yields None between two steps, and returns its result. It knows no event loop.
``pacing`` runs the steps on an event loop, which stays free for others; ``run_steps`` runs them one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from typing import ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, T]
"""Work on a group, in steps of a few milliseconds, that returns a ``T``."""


def run_steps(steps: Steps[T]) -> T:
    """Return the result of ``steps``, such as the rendering of a group, without a pause between them."""
    while True:
        try:
            next(steps)
        except StopIteration as finished:
            result: T = finished.value
            return result


def at_once(in_steps: Callable[P, Steps[T]]) -> Callable[P, T]:
    """Return the function that does what ``in_steps`` does, such as rendering a group, without a pause."""

    @wraps(in_steps)
    def run(*args: P.args, **named: P.kwargs) -> T:
        return run_steps(in_steps(*args, **named))

    return run
