"""What hostile rule code tries, and what comes of it: never a verdict it should not have, nothing outside touched."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from calipers.verifiers.sandbox import Job, Limits, Outcome, Sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox confines code on Linux only")

UP = "import sys\nframe = sys._getframe()\nwhile 'self' not in frame.f_locals: frame = frame.f_back\n"
LIBC = UP + (
    "cells = frame.f_locals['self']._confinement.child.__closure__\n"
    "libc = next(cell.cell_contents for cell in cells if type(cell.cell_contents).__name__ == 'CDLL')\n"
)
OS = "import sys\nos = sys.modules['os']\n"

ATTEMPTS = {
    # what is tried: (source, the ways it may end)
    "loop without end": ("while True: pass", {"cpu"}),
    "loop that catches everything": ("while True:\n try:\n  x = 1/0\n except BaseException: pass", {"cpu"}),
    "regular expression that backtracks": ("import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')", {"cpu"}),
    "constant folded by the compiler": ("x = 'a' * 10 ** 4\ny = (1,) * 10 ** 12", {"raised"}),
    "print without end": ("while True: print('x' * 10 ** 6)", {"cpu"}),
    "allocate 10 GB at once": ("x = 'a' * 10 ** 10", {"raised"}),
    "allocate bit by bit": ("x = []\nwhile True: x.append(bytearray(10 ** 6))", {"raised"}),
    "recursion": ("def f(): return f()\nf()", {"raised"}),
    "recursion beyond the limit": (
        "import sys\nsys.setrecursionlimit(10 ** 9)\nclass A:\n def __repr__(self): return repr(self)\nrepr(A())",
        {"crashed", "raised", "cpu"},
    ),
    "source nested too deeply": ("(" * 10_000, {"raised"}),
    "source that is not Python": ("def check_following(:", {"raised"}),
    "sys.exit": ("import sys\nsys.exit()", {"exited"}),
    "os._exit": (OS + "os._exit(0)", {"crashed"}),
    "import os": ("import os", {"forbidden"}),
    "import os, and catch it": ("try:\n import os\nexcept BaseException: pass\ndef check_following(r): return False",
                                {"forbidden"}),
    "import a module that is not installed": (("try:\n import nltk\nexcept ImportError: pass\ndef check_following(r): "
                                              "return False"), {"forbidden"}),
    "import subprocess": ("from subprocess import run", {"forbidden"}),
    "import through __import__": ("__import__('os').system('id')", {"forbidden"}),
    "import a part that is not loaded": ("import sys\nimport collections\nsys.modules.pop('os')\n__import__('os')",
                                         {"forbidden"}),
    "import relatively": ("from . import confinement", {"forbidden"}),
    "open a file": ("open('/etc/passwd')", {"forbidden"}),
    "open a file, and catch it": (("try:\n open('/etc/passwd')\nexcept BaseException: pass\ndef check_following(r): "
                                  "return False"), {"forbidden"}),
    "os.open": (OS + "os.open('/etc/passwd', 0)", {"forbidden"}),
    "/proc of its server": (OS + "open('/proc/%d/environ' % os.getppid())", {"forbidden"}),
    "fork": (OS + "os.fork()", {"forbidden"}),
    "system": (OS + "os.system('touch /tmp/calipers-was-here')", {"forbidden"}),
    "execve": (OS + "os.execv('/bin/true', ['true'])", {"forbidden"}),
    "kill its server": (OS + "os.kill(os.getppid(), 9)", {"forbidden"}),
    "start a thread": ("import sys\nsys.modules['_thread'].start_new_thread(print, ())", {"forbidden", "raised"}),
    "handle the signal that ends it": (
        "import sys\nsys.modules['signal'].signal(24, lambda *_: None)\nwhile True: pass", {"forbidden"}),
    "raise its own limits": (
        "import sys\nr = sys.modules['resource']\nr.setrlimit(r.RLIMIT_CPU, (1000, 1000))\nwhile True: pass",
        {"forbidden"}),
    "a C library, from the server's frames: open": (LIBC + "libc.open(b'/etc/passwd', 0)", {"forbidden"}),
    "a C library: socket": (LIBC + "libc.socket(2, 1, 0)", {"forbidden"}),
    "a C library: fork": (LIBC + "libc.fork()", {"forbidden"}),
    "a C library: ptrace": (LIBC + "libc.ptrace(16, 1, 0, 0)", {"forbidden"}),
    "a C library: another filter": (LIBC + "libc.prctl(22, 0, 0, 0, 0)", {"forbidden"}),
    "a C library: any call by number": (LIBC + "libc.syscall(425, 1, 0)", {"forbidden"}),
    "a C library: jump nowhere": (LIBC + "libc.memset(8, 1, 8)", {"crashed"}),
    "close the way out": (OS + "os.close(0)\ndef check_following(r): return True", {"crashed"}),
    "write nonsense on the way out": (OS + "os.write(0, b'\\x00\\x00\\x00\\x02{}')\nos._exit(0)", {"crashed"}),
    "write another's answer": (OS + "os.write(0, b'{\"number\": 0, \"values\": [true]}')\ndef check_following(r): "
                                    "return True", {"crashed"}),
    "write an answer that is no form": (OS + "os.write(0, b'{\"values\": {\"a\": 1}, \"failure\": 7}')\nos._exit(0)",
                                        {"unusable"}),
    "write without end on the way out": (OS + "while True: os.write(0, b'[' * 4096)", {"unusable"}),
    "nest the answer": (OS + "os.write(0, b'{\"values\": [' + b'[' * 900 + b']' * 900 + b']}')\nos._exit(0)",
                        {"unusable"}),
    "return an object": ("def check_following(r): return object()", {"unusable"}),
    "return something that pickles to a call": (
        "class A:\n def __reduce__(self): return (print, ('hello',))\ndef check_following(r): return A()",
        {"unusable"}),
    "return a list within itself": ("x = []\nx.append(x)\ndef check_following(r): return x", {"unusable"}),
    "return 10 MB": ("def check_following(r): return 'x' * 10 ** 7", {"unusable"}),
    "raise what cannot be printed": (
        "class E(Exception):\n def __str__(self): raise MemoryError\ndef check_following(r): raise E", {"raised"}),
    "define nothing": ("x = 1", {"unusable"}),
}  # fmt: skip
HARMLESS = {
    # what is tried, and has no effect: the function's own True is the answer
    "__del__ at the end": "class A:\n def __del__(self): 1 / 0\na = A()\ndef check_following(r): return True",
    "a forged line on stdout": "print('{\"values\": [false]}')\ndef check_following(r): return True",
    "a forged line on stderr": "import sys\nsys.stderr.write('{\"failure\": 1}')\ndef check_following(r): return True",
    "stdout taken away": "import sys\nsys.stdout = sys.stderr = None\ndef check_following(r): return True",
    "builtins taken away": "import sys\nsys.modules['builtins'].__dict__.pop('print')\ndef check_following(r): return "
    "True",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(limits=Limits(wall_seconds=60.0)) as made:
        yield made


def job(source: str) -> Job:
    return Job(source, "check_following", (("some response",),), fit=True)


def test_an_attempt_ends_without_a_verdict_says_why_and_reaches_no_other_job(sandbox: Sandbox) -> None:
    honest = job("def check_following(response): return 'none' in response")
    ended = sandbox.run([one for source, _ in ATTEMPTS.values() for one in (job(source), honest)])
    assert [outcome.values for outcome in ended[1::2]] == [(False,)] * len(ATTEMPTS)
    outcomes = dict(zip(ATTEMPTS, ended[::2], strict=True))
    assert {name: one for name, one in outcomes.items() if one.failure not in ATTEMPTS[name][1]} == {}
    assert [name for name, one in outcomes.items() if not 0 < len(one.reason) <= 300 or one.cpu_seconds >= 3] == []
    assert not Path("/tmp/calipers-was-here").exists()  # noqa: S108 - the file an attempt tries to make


def test_a_harmless_trick_changes_nothing(sandbox: Sandbox) -> None:
    found = dict(zip(HARMLESS, sandbox.run([job(source) for source in HARMLESS.values()]), strict=True))
    assert {name: one for name, one in found.items() if (one.values, one.failure) != ((True,), None)} == {}


def test_no_environment_arguments_or_open_files_come_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are in the environment of trainers; none of it reaches the code, nor does anything open here."""
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret")
    look = OS + (
        "def check_following(r):\n"
        "    return [list(os.environ), sys.argv, sys.orig_argv[:5], sorted(sys.modules)]\n"
    )  # fmt: skip
    with Sandbox() as fresh:
        (found,) = fresh.run([job(look)])
    environment, *rest = found.values[0]
    assert set(environment) == {"PYTHONHASHSEED", "PYTHONUTF8", "LC_ALL", "TZ"}
    assert "sk-very-secret" not in str(found)
    assert "aiohttp" not in str(rest)


def test_no_connection_reaches_a_listener(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        connect = LIBC + f"s = libc.socket(2, 1, 0)\nlibc.connect(s, ({port}).to_bytes(16, 'big'), 16)"
        (found,) = sandbox.run([job(connect)])
        assert found.failure == "forbidden"
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_rule_that_sleeps_is_ended_by_the_clock() -> None:
    with Sandbox(limits=Limits(wall_seconds=0.5)) as hasty:
        (found,) = hasty.run([job("import time\ntime.sleep(1000)")])
    assert found.failure == "wall"
    assert "0.5 s" in found.reason


def test_limits_alone_still_take_files_and_processes_away() -> None:
    """What holds on systems without seccomp: nothing can be opened or started, and time and memory end."""
    tried = ["open('/etc/passwd')", OS + "os.open('/etc/passwd', 0)", LIBC + "assert libc.open(b'/etc/passwd', 0) >= 0",
             LIBC + "assert libc.socket(2, 1, 0) >= 0", "while True: pass", "x = 'a' * 10 ** 10"]  # fmt: skip
    with Sandbox(isolation="limits") as loose:
        assert "seccomp" not in loose.layers
        found = loose.run([job(source) for source in tried])
        assert loose.run([job("def check_following(r): return True")])[0].values == (True,)
    assert all(outcome.failure for outcome in found)


WRITTEN = [
    b'{"failure":[1]}', b'{"failure":{"a":1}}', b'{"failure":true,"values":[true]}', b'{"failure":"wall"}',
    b'{"failure":"lost"}', b'{"failure":"cpu"}', b'{"values":{"a":1}}', b'{"values":[{"set":[[1]]}]}',
    b'{"values":[true],"reason":[1]}', b'{"values":[true],"output":5}',
    b'{"number":7,"cpu":"x","values":[{"list":[]}]}', b'{"values":[' + b"[" * 950 + b"]" * 950 + b"]}",
    b'{"values":[' + b'{"tuple":[' * 99 + b"]}" * 99 + b"]}", b'{"values":[' + b"9" * 5000 + b"]}", b"[" * 100_000,
    b"null", b"\xff\xfe", b"",
]  # fmt: skip


def written(answer: bytes) -> Job:
    """A job that writes its own answer: the child holds the pipe, so what arrives on it is the foreign code's."""
    return job(f"import sys\nsys.modules['posix'].write(0, {answer!r})\nsys.modules['posix']._exit(0)")


def test_an_answer_written_by_hand_costs_its_own_job_alone(sandbox: Sandbox) -> None:
    good = job("def check_following(response): return True")
    ended = sandbox.run([one for answer in WRITTEN for one in (written(answer), good)])
    assert [outcome.values for outcome in ended[1::2]] == [(True,)] * len(WRITTEN)
    for answer, outcome in zip(WRITTEN, ended[::2], strict=True):
        assert outcome.failure in {"unusable", "crashed"}, answer[:50]
        assert outcome.values == ()
        assert outcome.reason


def test_a_deep_answer_is_refused_however_little_stack_its_reader_has_left(sandbox: Sandbox) -> None:
    deep = written(b'{"values":[' + b"[" * 900 + b"]" * 900 + b"]}")

    def outcome_below(frames: int) -> Outcome:
        return outcome_below(frames - 1) if frames else sandbox.run([deep])[0]

    for frames in (0, 150, 300):
        outcome = outcome_below(frames)
        assert outcome.failure == "unusable"
        assert "nested too deeply" in outcome.reason
