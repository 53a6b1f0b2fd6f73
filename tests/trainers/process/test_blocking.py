"""A coroutine run from synchronous code, in whatever thread, process or state of things."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from calipers.trainers.process import blocking


async def where() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    return asyncio.get_running_loop(), threading.current_thread()


def test_every_call_of_every_thread_runs_on_one_loop_in_one_daemon_thread():
    with ThreadPoolExecutor(8) as pool:
        places = set(pool.map(lambda _: blocking.run_coroutine(where()), range(32)))
    assert places == {blocking.run_coroutine(where())}
    [(_, thread)] = places
    assert thread.daemon
    assert thread is not threading.main_thread()


async def test_it_waits_where_another_loop_is_running():
    loop, _ = blocking.run_coroutine(where())
    assert loop is not asyncio.get_running_loop()


def test_exceptions_come_out_as_they_are():
    class BadError(Exception):
        pass

    error = BadError("this")

    async def fails() -> None:
        raise error

    with pytest.raises(BadError) as caught:
        blocking.run_coroutine(fails())
    assert caught.value is error


def test_an_interrupt_cancels_what_is_running():
    cancelled = threading.Event()

    async def interrupted() -> None:
        try:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    # Who is started in the background by a shell ignores interrupts, and would wait here for ever.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            blocking.run_coroutine(interrupted())
    finally:
        signal.signal(signal.SIGINT, before)
    assert cancelled.wait(10)


def test_it_does_not_wait_for_itself():
    async def outer() -> None:
        blocking.run_coroutine(where())

    with pytest.raises(RuntimeError, match="await the coroutine instead"):
        blocking.run_coroutine(outer())


FORKING = """
import asyncio, os
from calipers.trainers.process import blocking

async def answer(): return 42

assert blocking.run_coroutine(answer()) == 42
child = os.fork()
if not child:
    os._exit(blocking.run_coroutine(answer()))
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), blocking.run_coroutine(answer()))
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="there is no fork on this system")
def test_a_forked_child_has_a_loop_of_its_own():
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["42", "42"], done.stderr
