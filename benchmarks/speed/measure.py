"""What every client of the throughput benchmark shares: make groups, warm up, time, print one line of JSON.

The standard library only, for it also runs in the interpreter that has ART and not calipers.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def drain(items: Iterable[T], work: Callable[[T], Awaitable[bool]], *, in_flight: int) -> int:
    """Do ``work`` for all of ``items``, ``in_flight`` at a time; how many of them it said True for."""
    source = iter(items)
    done = 0

    async def worker() -> None:
        nonlocal done
        for item in source:
            succeeded = await work(item)
            done += succeeded

    await asyncio.gather(*(worker() for _ in range(in_flight)))
    return done


def main(make: Callable[..., list[Any]], score: Callable[[str, Sequence[Any], int], Awaitable[int]]) -> None:
    """Time ``score(url, groups, in_flight)`` over ``make(count, seed=..., text=...)``, after a warm-up over other
    groups.

    Wall and CPU time (all threads, user and system) are of the timed part alone. Groups are made beforehand and kept
    out of the garbage collector's sight, as if they belonged to a trainer.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--in-flight", type=int, required=True)
    parser.add_argument("--groups", type=int, required=True)
    parser.add_argument("--text", default="prose", help="what the groups say: see real_text.py")
    options = parser.parse_args()
    warm_up = make(2 * options.in_flight, seed=1, text=options.text)
    timed = make(options.groups, seed=0, text=options.text)
    gc.collect()
    gc.freeze()

    async def run() -> dict[str, float]:
        await score(options.url, warm_up, options.in_flight)
        started, used = time.perf_counter(), time.process_time()
        scored = await score(options.url, timed, options.in_flight)
        seconds, cpu = time.perf_counter() - started, time.process_time() - used
        if scored != len(timed):
            sys.exit(f"only {scored} of {len(timed)} groups were scored")
        return {"groups": scored, "seconds": seconds, "cpu": cpu}

    print(json.dumps(asyncio.run(run())))
