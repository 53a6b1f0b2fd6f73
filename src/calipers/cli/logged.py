"""Prints what calipers logs: warnings, or more with ``--log-level``; in a terminal, above the progress line."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Printing(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.levelno >= logging.WARNING:
            self._say(f"{'Warning' if record.levelno < logging.ERROR else 'Error'}: {text}")
        else:
            when = time.strftime("%H:%M:%S", time.localtime(record.created))
            self._say(f"{when} {record.levelname.lower()} {record.name}: {text}")


@contextmanager
def print_log_with(say: Callable[[str], None], *, level: str | None = None) -> Iterator[None]:
    """Print on the command line what calipers logs with ``say``, instead of the usual handlers.

    ``level`` ("debug", "info", "warning", "error") is the least that is printed. None leaves it as it is, which is
    warnings at first.
    """
    with only_handler(_Printing(say), level=None if level is None else logging.getLevelNamesMapping()[level.upper()]):
        yield


@contextmanager
def only_handler(handler: logging.Handler, *, level: int | None = None) -> Iterator[None]:
    """Hand what calipers logs to ``handler`` alone, from ``level`` on; None leaves the level as it is."""
    logger = logging.getLogger("calipers")
    before = logger.handlers[:], logger.propagate, logger.level
    logger.handlers[:], logger.propagate = [handler], False
    if level is not None:
        logger.setLevel(level)
    try:
        yield
    finally:
        logger.handlers[:], logger.propagate = before[:2]
        logger.setLevel(before[2])
