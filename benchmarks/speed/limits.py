"""What bounds cost, and whether ``concurrency="auto"`` finds a server's capacity.

    python -m benchmarks.speed.limits [--slots 4 32 256] [--per-slot 100] [--seconds 0.1] [--rounds 3]

The judge is a process of its own on loopback that works at so many questions at a time and lets the others wait. How
long each takes is drawn with heavy tails (lognormal, sigma 0.7, at most eight times the median) and the same for every
client. The lower bound is the work divided by the slots, or the longest answer. Clients take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from statistics import median
from typing import Any, Literal

from benchmarks.environment import serving
from benchmarks.judge_server import JudgeProtocol
from calipers.backends.limits.bounds import within_bounds
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.types import Ask, Completion, JudgeRequest, RenderedGroup, Usage

Concurrency = int | Literal["auto"]


def drawn(count: int, *, seconds: float) -> list[float]:
    """How long each answer takes, in seconds; ``seconds`` is the median."""
    rng = random.Random(7)
    return [seconds * min(rng.lognormvariate(0.0, 0.7), 8.0) for _ in range(count)]


class _Slots:
    """So many questions at a time, in the order they came."""

    def __init__(self, slots: int, times: Sequence[float]) -> None:
        self._free = slots
        self._times = iter(times)
        self._waiting: deque[tuple[_Slotted, dict[str, Any]]] = deque()

    def ask(self, connection: _Slotted, body: dict[str, Any]) -> None:
        self._waiting.append((connection, body))
        self._begin()

    def _begin(self) -> None:
        while self._free and self._waiting:
            self._free -= 1
            asyncio.get_running_loop().call_later(next(self._times), self._end, *self._waiting.popleft())

    def _end(self, connection: _Slotted, body: dict[str, Any]) -> None:
        self._free += 1
        connection._send(body)  # noqa: SLF001 - its subclass
        self._begin()


class _Slotted(JudgeProtocol):
    def __init__(self, slots: _Slots) -> None:
        super().__init__({"answered": 0}, delay=0.0)
        self._slots = slots

    def _answer(self, question: bytes) -> None:
        del question  # its scores do not matter here
        message = {"role": "assistant", "content": '{"scores": {"A": 90, "B": 10}}'}
        usage = {"prompt_tokens": 40, "completion_tokens": 20}
        self._slots.ask(
            self, {"model": "judge", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
        )


async def _serve(slots: int, count: int, seconds: float) -> None:
    shared = _Slots(slots, drawn(count, seconds=seconds))
    server = await asyncio.get_running_loop().create_server(lambda: _Slotted(shared), "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


def _running(slots: int, count: int, seconds: float) -> AbstractContextManager[str]:
    return serving("speed.limits", "--serve", str(slots), str(count), str(seconds))


def _question() -> JudgeRequest:
    ask = Ask(0, (0, 1), (0, 1))
    view = RenderedGroup("g", ("a", "b"), "00", "@", (), ())
    return JudgeRequest(({"role": "user", "content": "Which is better?"},), ("A", "B"), ask, view, None, 100)


async def _makespan(url: str, count: int, concurrency: Concurrency) -> float:
    backend = OpenAICompatible("judge", base_url=url, timeout=600.0)
    judge = within_bounds(backend, concurrency=concurrency)
    asked = _question()
    started = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(count):
            tasks.create_task(judge.complete(asked))
    took = time.perf_counter() - started
    await backend.aclose()
    return took


def _measure(slots: int, count: int, seconds: float, concurrency: Concurrency) -> float:
    with _running(slots, count, seconds) as url:
        return asyncio.run(_makespan(url, count, concurrency))


def capacity(slots: int, *, per_slot: int, seconds: float, rounds: int) -> None:
    """One row: the makespan of fixed bounds and of "auto", over the lower bound."""
    count = slots * per_slot
    times = drawn(count, seconds=seconds)
    least = max(sum(times) / slots, *times)
    settings: list[Concurrency] = [max(1, slots // 2), slots, 2 * slots, "auto"]
    took: dict[Concurrency, list[float]] = {setting: [] for setting in settings}
    for _ in range(rounds):
        for setting in settings:
            took[setting].append(_measure(slots, count, seconds, setting))
    middle = {setting: median(all_took) for setting, all_took in took.items()}
    best = min(value for setting, value in middle.items() if setting != "auto")
    print(f"\n{slots} slots, {count} questions, lower bound {least:.2f} s; makespan over it:")
    print("   ".join(f"{setting}: {value / least:.3f}" for setting, value in middle.items()))
    _target(middle["auto"] / best, 1.10, f"auto over the best fixed bound, {slots} slots")
    _target(middle["auto"] / least, 1.15, f"auto over the lower bound, {slots} slots")


class _Instant:
    endpoint = model = "instant"

    async def complete(self, request: JudgeRequest) -> Completion:  # noqa: ARG002 - the seam
        return Completion("{}", usage=Usage(2400, 160))


async def _cpu(judge: Any, asked: JudgeRequest, calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        await judge.complete(asked)
    return (time.process_time() - started) / calls


def cost() -> None:
    """CPU a call of every bound at once, on a question of 10 kB."""
    ask, view = _question().ask, _question().view
    asked = JudgeRequest(({"role": "user", "content": "x" * 10_000},), ("A", "B"), ask, view, None, 100)
    judge = within_bounds(
        _Instant(),
        concurrency="auto",
        requests_per_minute=6e12,
        tokens_per_minute=6e15,
        price=(0.25, 2.0, 0.025),
        budget={"calls": 1e12, "tokens": 1e15, "usd": 1e9},
        hedge=0.05,
        max_tokens=100,
    )
    gc.collect()
    took = median(asyncio.run(_cpu(judge, asked, 2000)) for _ in range(5))
    bare = median(asyncio.run(_cpu(_Instant(), asked, 2000)) for _ in range(5))
    print(f"all bounds together: {1e6 * (took - bare):.0f} µs of CPU a call")
    _target(took - bare, 1e-4, "seconds of CPU a call, all bounds together")


def _target(value: float, limit: float, what: str) -> None:
    print(f"{'met ' if value <= limit else 'MISS'} {what}: {value:.3g} (at most {limit:g})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slots", type=int, nargs="+", default=[4, 32, 256])
    parser.add_argument("--per-slot", type=int, default=100, help="questions for each slot")
    parser.add_argument("--seconds", type=float, default=0.1, help="median time of an answer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", nargs=3, metavar=("SLOTS", "COUNT", "SECONDS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        slots, count, seconds = options.serve
        gc.disable()
        asyncio.run(_serve(int(slots), int(count), float(seconds)))
        return
    cost()
    for slots in options.slots:
        capacity(slots, per_slot=options.per_slot, seconds=options.seconds, rounds=options.rounds)


if __name__ == "__main__":
    main()
