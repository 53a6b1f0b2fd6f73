"""Prints the warnings that calipers logs; in a terminal, they appear above the progress line."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Printing(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(f"Warning: {record.getMessage()}")


@contextmanager
def print_warnings_with(say: Callable[[str], None]) -> Iterator[None]:
    """Print calipers' logged warnings on the command line with ``say`` instead of the usual handlers."""
    logger = logging.getLogger("calipers")
    handler, before = _Printing(say), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
