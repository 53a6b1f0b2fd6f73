"""calipers.run: asynchronous work from synchronous code, also where an event loop runs already."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextvars import ContextVar

import pytest

import calipers
from calipers.testing import SimulatedJudge
from groups import group_of

GROUP = group_of({"a": "good", "b": "bad"})


async def rewards() -> list[float | None]:
    return (await calipers.score_group(GROUP, judge=SimulatedJudge({"a": 0.9, "b": 0.1}))).rewards


async def numbers() -> AsyncIterator[int]:
    for number in range(3):
        await asyncio.sleep(0)
        yield number


def test_a_script_without_a_loop_gets_the_result():
    assert calipers.run(rewards()) == [0.9, 0.1]
    assert calipers.run(numbers()) == [0, 1, 2]


async def test_a_notebook_whose_loop_runs_gets_the_result_from_another_thread():
    with pytest.raises(RuntimeError, match="running event loop"):
        asyncio.run(work := rewards())
    work.close()
    before = threading.active_count()
    assert calipers.run(rewards()) == [0.9, 0.1]
    assert calipers.run(numbers()) == [0, 1, 2]
    assert threading.active_count() == before


async def test_an_error_of_the_work_is_raised_in_the_caller():
    with pytest.raises(calipers.ConfigError, match="did you mean embedded"):
        calipers.run(calipers.score_group(GROUP, judge="embeded"))


async def test_the_callers_context_variables_are_seen():
    run = ContextVar[str]("run")
    run.set("r1")

    async def seen() -> str:
        return run.get()

    assert calipers.run(seen()) == "r1"


async def test_what_is_no_work_is_refused_with_what_to_write():
    task = asyncio.ensure_future(asyncio.sleep(0))
    wrong = {rewards: "call the function first", 3: "not 3", task: "it belongs to an event loop: await it there"}
    for work, hint in wrong.items():
        with pytest.raises(TypeError, match=hint):
            calipers.run(work)  # type: ignore[call-overload]
    await task


_WORK = """
import asyncio, calipers, signal, sys
async def work():
    print("begun", flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(0)
        print("ended", flush=True)
"""
_CALLERS = {
    "notebook": """
async def cell():
    try:
        calipers.run(work())
    except KeyboardInterrupt:
        print("interrupted", flush=True)
loop = asyncio.new_event_loop()
loop.run_until_complete(cell())
loop.close()
""",
    "asyncio.run": """
async def main():
    calipers.run(work())
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
""",
    "script": """
try:
    calipers.run(work())
except KeyboardInterrupt:
    print("interrupted", flush=True)
""",
}


@pytest.mark.parametrize("caller", _CALLERS.values(), ids=_CALLERS)
def test_ctrl_c_cancels_the_work_and_waits_for_its_end(caller: str):
    """A kernel runs cells on a loop of its own and lets SIGINT raise; asyncio.run cancels its main task instead."""
    with subprocess.Popen([sys.executable, "-c", _WORK + caller], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "ended\ninterrupted\n"
    assert process.returncode == 0
