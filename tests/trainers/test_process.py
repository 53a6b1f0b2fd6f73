"""What an adapter needs of its process: one event loop, one judge for equal arguments, the engine's version."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from art_judges import ContentJudge
from calipers import Judge
from calipers.errors import ConfigError
from calipers.trainers.process import as_judge, once_per_process, run_coroutine


async def where() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    return asyncio.get_running_loop(), threading.current_thread()


async def test_every_call_of_every_thread_runs_on_one_loop_in_one_daemon_thread() -> None:
    with ThreadPoolExecutor(8) as threads:
        places = {run_coroutine(where()), *threads.map(lambda _: run_coroutine(where()), range(32))}
    ((loop, thread),) = places
    assert loop is not asyncio.get_running_loop()
    assert thread.daemon


def test_errors_come_out_as_they_are_and_it_does_not_wait_for_itself() -> None:
    async def fails() -> None:
        raise KeyError("x")

    async def outer() -> None:
        run_coroutine(where())

    with pytest.raises(KeyError, match="x"):
        run_coroutine(fails())
    with pytest.raises(RuntimeError, match="await the coroutine instead"):
        run_coroutine(outer())


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="there are no such signals on this system")
def test_an_interrupt_cancels_what_is_running() -> None:
    cancelled = threading.Event()

    async def interrupted() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(0.1, signal.pthread_kill, threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_coroutine(interrupted())
    finally:
        signal.signal(signal.SIGINT, before)
    assert cancelled.wait(10)


def test_threads_that_ask_together_get_the_same_and_what_failed_is_made_anew() -> None:
    made: list[int] = []

    @once_per_process(maxsize=4)
    def slowly(number: int) -> object:
        made.append(number)
        time.sleep(0.05)
        if len(made) == 1:
            raise ConfigError("not yet")
        return object()

    with pytest.raises(ConfigError):
        slowly(1)
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(lambda _: slowly(1), range(8)))) == 1
    assert made == [1, 1]


FORKING = """
import os
from calipers.trainers.process import run_coroutine

async def answer(): return 42

assert run_coroutine(answer()) == 42
child = os.fork()
if not child:
    os._exit(run_coroutine(answer()))
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), run_coroutine(answer()))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_child_has_a_loop_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["42", "42"], done.stderr


def function() -> Judge:
    return Judge("embedded")


def test_a_judge_is_made_once_from_a_name_a_function_or_several_names_and_nothing_else_is_one() -> None:
    ready = Judge(ContentJudge())
    assert as_judge(ready) is ready
    assert as_judge("embedded") is as_judge("embedded")
    assert as_judge(function) is as_judge(function)
    assert len(as_judge(["embedded", "profile:gpt-5.4"]).settings.judges) == 2
    for wrong in (3, None, lambda: "embedded"):
        with pytest.raises(ConfigError, match="give a judge's name"):
            as_judge(wrong)  # type: ignore[arg-type]  # wrong on purpose
