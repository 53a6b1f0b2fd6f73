"""What an adapter needs from its process: one judge, one event loop, and the engine itself.

Engines copy an adapter's arguments to worker processes. A copy of a Judge has limits and counts of its own; a
judge's name, or a function of a module, makes one Judge for each process.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Coroutine, Sequence
from functools import lru_cache, wraps
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar, cast

from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge

P = ParamSpec("P")
R = TypeVar("R")

JudgeLike: TypeAlias = "str | Backend | Sequence[str | Backend] | Judge | Callable[[], Judge]"
"""A judge's name, a Backend, several of these (a panel), a Judge, or a function without arguments that returns a
Judge.
"""


def run_coroutine(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run ``coroutine`` from synchronous code in any thread, and return its result or raise its error.

    All calls of a process share one event loop in a daemon thread, so that a judge's connections last for the whole
    run. What ends the wait, such as Ctrl-C, cancels the coroutine. Raises RuntimeError on that loop itself.
    """
    loop, thread = _background()
    if threading.current_thread() is thread:
        coroutine.close()
        raise RuntimeError("run_coroutine would wait for its own event loop; await the coroutine instead")
    result = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return result.result()
    except BaseException:
        result.cancel()  # no effect if the coroutine raised
        raise


_lock = threading.Lock()
_loops: Final[dict[int, tuple[asyncio.AbstractEventLoop, threading.Thread]]] = {}
"""By process: a forked child has no threads of its parent."""


def _background() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    """Return this process's event loop and its daemon thread, started when first needed."""
    with _lock:
        if os.getpid() not in _loops:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="calipers", daemon=True)
            thread.start()
            _loops[os.getpid()] = loop, thread
        return _loops[os.getpid()]


def once_per_process(*, maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that caches the objects made for the latest ``maxsize`` different arguments.

    Unlike ``functools.lru_cache``, threads that ask at the same moment get the same object: with one each, a limit on
    calls, a budget or a count of lost groups would not cover them together.
    """

    def decorate(make: Callable[P, R]) -> Callable[P, R]:
        cached, lock = lru_cache(maxsize=maxsize)(make), threading.RLock()

        @wraps(make)
        def made(*arguments: P.args, **named: P.kwargs) -> R:
            with lock:
                return cached(*arguments, **named)  # type: ignore[arg-type]  # unhashable arguments are a TypeError there

        return made

    return decorate


def as_judge(source: JudgeLike) -> Judge:
    """Return the Judge for an adapter's ``judge`` argument: in a process, the same ``source`` gives the same Judge.

    Raises ConfigError for anything that is not JudgeLike, and for a judge that cannot work.
    """
    if isinstance(source, Judge):
        return source
    source = tuple(source) if isinstance(source, list) else source
    try:
        hash(source)
    except TypeError:
        return _built(source)
    return _shared(source)


def _built(source: JudgeLike) -> Judge:
    if isinstance(source, str | tuple) or callable(getattr(source, "complete", None)):
        return Judge(cast("str | Backend | Sequence[str | Backend]", source))
    judge = source() if callable(source) else source
    if isinstance(judge, Judge):
        return judge
    name = getattr(source, "__qualname__", type(source).__name__)
    raise ConfigError(
        f"judge: {f'{name}() returned a' if callable(source) else 'it is a'} {type(judge).__name__}; give a judge's "
        "name such as 'openai/gpt-5-mini', a Backend, a calipers.Judge, or a function without arguments that returns "
        "a Judge"
    )


_shared = once_per_process(maxsize=32)(_built)


def require_sendable(judge: JudgeLike) -> None:
    """Raise ConfigError for a Judge, of which each process of the engine would have a copy with limits of its own."""
    if isinstance(judge, Judge):
        raise ConfigError(
            "the engine copies this into other processes, and each copy of a Judge would have limits and counts of its "
            "own: pass the judge's name, or a module's function that returns the Judge"
        )


def installed_version(package: str) -> tuple[int, int] | None:
    """Return (major, minor) of an engine's package; None if it is not installed or has no such numbers."""
    try:
        numbers = re.match(r"(\d+)\.(\d+)", version(package))
    except PackageNotFoundError:
        return None
    return None if numbers is None else (int(numbers[1]), int(numbers[2]))
