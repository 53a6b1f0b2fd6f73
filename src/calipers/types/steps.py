"""Long work in steps, between which its caller may do something else.

A function in steps is a generator: it yields None between two steps, and returns its result. It knows no event loop.
``pacing`` runs the steps on an event loop, which stays free for others; ``run_steps`` runs them one after the other.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

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
