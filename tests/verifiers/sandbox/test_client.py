"""The sandbox as its callers use it."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.verifiers.sandbox import ALLOWED, Job, Limits, Sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox confines code on Linux only")
LONG = Job("def f(text): return len(text.split()) > 2", "f", (("a b c",),))
SHORT = Job("def f(text): return len(text.split()) > 2", "f", (("a",),))


@pytest.fixture(scope="module")
def sandbox() -> Any:
    with Sandbox() as made:
        yield made


def values(sandbox: Sandbox, source: str, *calls: Any) -> Any:
    (outcome,) = sandbox.run([Job(source, "f", calls)])
    assert outcome.failure is None, outcome
    return outcome.values


def test_outcomes_come_in_the_order_of_the_jobs(sandbox: Sandbox) -> None:
    assert [outcome.values for outcome in sandbox.run([LONG, SHORT] * 30)] == [(True,), (False,)] * 30
    assert sandbox.run([]) == []


def test_several_calls_share_a_process_up_to_the_first_that_fails(sandbox: Sandbox) -> None:
    source = "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen) / (3 - len(seen))"
    (outcome,) = sandbox.run([Job(source, "f", ((1,),) * 4)])
    assert (outcome.values, outcome.failure) == ((0.5, 2.0), "raised")
    assert "ZeroDivisionError" in outcome.reason


def test_jobs_know_nothing_of_one_another(sandbox: Sandbox) -> None:
    assert values(sandbox, "import re\nre.was_here = True\ndef f(): return True", ()) == (True,)
    assert values(sandbox, "import re\ndef f(): return hasattr(re, 'was_here')", ()) == (False,)


def test_arguments_and_values_keep_their_types(sandbox: Sandbox) -> None:
    given = ([1, 2.5, None, True], (1, ("x",)), {"a": {1: [2]}}, {3, 4}, frozenset({5}), "h\u00e9 \ud800")
    assert values(sandbox, "def f(*all): return all", given) == (given,)


def test_arguments_that_are_no_plain_data_are_the_callers_mistake(sandbox: Sandbox) -> None:
    with pytest.raises(InputError, match="type object"):
        sandbox.run([LONG, Job("", "f", ((object(),),))])
    assert sandbox.run([LONG])[0].values == (True,)


def test_a_program_reads_and_prints(sandbox: Sandbox) -> None:
    source = "import sys\nname = input()\nprint('hello', name)\nprint(sys.stdin.read().count('x'))\nsys.exit()"
    (outcome,) = sandbox.run([Job(source, stdin="you\nxx\nx")])
    assert (outcome.output, outcome.failure) == ("hello you\n3\n", None)
    programs = ["while True: print('x' * 1000)", "import sys\nsys.exit('no')"]
    ended = sandbox.run([Job(program, stdin="") for program in programs])
    assert [one.failure for one in ended] == ["unusable", "exited"]


def test_the_same_job_has_the_same_outcome(sandbox: Sandbox) -> None:
    source = "import random\ndef f(): return [random.random(), hash('text'), list({'a', 'b', 'c', 'd'})]"
    assert values(sandbox, source, ()) == values(sandbox, source, ())
    with Sandbox() as another:
        assert values(sandbox, source, ()) == values(another, source, ())


def test_every_allowed_module_can_be_imported_and_used(sandbox: Sandbox) -> None:
    imports = "\n".join(f"import {name}" for name in ALLOWED if name != "__future__")
    source = f"""{imports}
from dataclasses import dataclass
@dataclass
class P:
    x: int
def f():
    return [datetime.datetime.strptime("2026-01-02", "%Y-%m-%d").day, P(3).x,
            "\u00fc".encode("idna").decode("punycode") is not None,
            json.loads(json.dumps({{"a": 1}}))["a"], re.sub("a", "b", "aa"), unicodedata.name("a"),
            str(decimal.Decimal("1.1") + 1), statistics.mean([1, 2]), textwrap.shorten("a b c", 5),
            html.unescape("&lt;")]
"""
    assert values(sandbox, source, ())[0][:5] == [2, 3, True, 1, "bb"]


def test_a_lost_server_loses_what_was_under_way_and_nothing_after(sandbox: Sandbox) -> None:
    with Sandbox(workers=1) as fragile:
        assert fragile.run([LONG])[0].values == (True,)
        assert fragile._server is not None
        os.kill(fragile._server._process.pid, signal.SIGKILL)
        lost = fragile.run([LONG, LONG, LONG, SHORT])
        assert {outcome.failure for outcome in lost} <= {"lost", None}
        assert lost[0].failure == "lost"
        assert lost[-1].values == (False,)


def test_an_interrupted_run_leaves_no_answers_for_the_next(sandbox: Sandbox) -> None:
    """Ctrl-C in the middle: what was under way must not be taken for what is asked next."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    slow = Job("import time\ndef f(x):\n    time.sleep(0.5)\n    return 'late'", "f", ((1,),))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            sandbox.run([slow] * 4)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert [outcome.values for outcome in sandbox.run([LONG, SHORT] * 3)] == [(True,), (False,)] * 3


def test_a_fork_while_another_thread_is_asking_has_a_server_of_its_own() -> None:
    """Data loaders fork: parent and child must not wait for or read one another's answers."""
    script = """
import os, threading
from calipers.verifiers.sandbox import Job, Sandbox
sandbox = Sandbox()
job = Job("import time\\ndef f(x):\\n    time.sleep(0.3)\\n    return x", "f", ((1,),))
found = []
busy = threading.Thread(target=lambda: found.extend(sandbox.run([job] * 9)))
sandbox.layers
busy.start()
while not sandbox._lock.locked():
    pass
child = os.fork()
if child == 0:
    ok = sandbox.run([Job("def f(x): return x", "f", ((2,),))])[0].values == (2,)
    sandbox.close()
    os._exit(0 if ok else 1)
_, status = os.waitpid(child, 0)
busy.join()
again = sandbox.run([Job("def f(x): return x", "f", ((3,),))])
print(status, {one.values for one in found}, again[0].values)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert run.stdout == "0 {(1,)} (3,)\n", run.stderr


def test_threads_may_share_a_sandbox(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(sandbox.run, [[LONG, SHORT] * 5] * 4))
    assert [[outcome.values for outcome in one] for one in found] == [[(True,), (False,)] * 5] * 4


def test_the_server_ends_with_the_process_that_started_it() -> None:
    script = """
from calipers.verifiers.sandbox import shared_sandbox
sandbox = shared_sandbox()
assert "seccomp" in sandbox.layers
print(sandbox._server._process.pid, flush=True)
import os
os._exit(0)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    pid = int(run.stdout)
    for _ in range(1000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        with open(f"/proc/{pid}/stat", encoding="ascii") as told:  # noqa: PTH123
            if told.read().split()[2] == "Z":
                return
        threading.Event().wait(0.01)
    pytest.fail("the server outlived its process")


def test_what_cannot_be_had_is_one_sentence() -> None:
    for name, value in (("cpu_seconds", 0), ("cpu_seconds", 1.5), ("wall_seconds", -1), ("memory_bytes", True)):
        with pytest.raises(ConfigError, match=f"{name}={value}"):
            Limits(**{name: value})  # type: ignore[arg-type]  # what is tested
    with pytest.raises(ConfigError, match="isolation='none'"):
        Sandbox(isolation="none")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"cannot offer no_such_package.*install it"):
        Sandbox(modules=["no_such_package"]).run([LONG])
