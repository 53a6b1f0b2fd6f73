"""Run one job in a child process of the sandbox: execute the source, call the function, write an answer, exit.

The process is confined before this code begins. Its answer is about its own job only, and the fork server treats it as
untrusted. The refusal of imports here only gives a readable reason; ``confinement`` enforces the limits.
"""

from __future__ import annotations

import builtins
import io
import json
import os
import random
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any, Final, Never

from calipers.verifiers.sandbox.messages import UnplainError, decode_plain, encode_plain

ANSWER: Final = 0
"""The only open file descriptor: the pipe to the fork server."""

MOST_ANSWER: Final = 2**20
"""The greatest size of an answer in bytes, including what the program prints."""
_REASON = 300
_UNSTARTED: Final = (types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType)
"""If a function returns one of these types, no line of the function has run yet."""
_ANSWERS: Final = frozenset({"response", "answer", "text", "output", "completion", "reply"})
"""Names of a rule's response argument. If a rule's other arguments have defaults, they are settings."""


def run_job(job: Mapping[str, Any], importable: frozenset[str]) -> Never:
    """Run the sandbox's job and exit. Its answer is an object with ``values``, ``output`` or ``failure``."""
    random.seed(0)  # the same response always gets the same verdict
    _forbid_imports_and_files(importable)
    sink = _Output(None if job["stdin"] is None else MOST_ANSWER // 8)
    sys.stdin = io.StringIO(job["stdin"] or "")
    sys.stdout = sys.stderr = sink
    values: list[Any] = []
    try:
        _run_source(job, values)
    except SystemExit as error:
        # A program may exit, but a function must return its answer.
        if job["stdin"] is None or error.code not in (None, 0):
            _fail("exited", f"it called sys.exit({_short_repr(error.code)})", values)
    except UnplainError as error:
        _fail("unusable", f"it returned {error}, which is not plain data", values)
    except BaseException as error:  # noqa: BLE001 - foreign code may raise anything, and that is an answer
        _fail("raised", f"it raised {_error_text(error)}", values)
    _answer({"values": values, "output": None if job["stdin"] is None else sink.getvalue()})


def _run_source(job: Mapping[str, Any], values: list[Any]) -> None:
    """Execute a job's source as a module, then call its function with each list of arguments."""
    name, function = ("__main__" if job["stdin"] is not None else "__rule__"), job["function"]
    module = types.ModuleType(name)
    sys.modules[name] = module  # dataclasses look up their module
    exec(compile(job["source"], "<source>", "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - what this process is for
    if function is None:
        return
    callee = module.__dict__.get(function)
    if not callable(callee):
        _fail("unusable", f"it defines no function {function}", values)
    for arguments in decode_plain(job["calls"]):
        fitting = _fitting(callee, arguments) if job["fit"] else arguments
        value = callee(*fitting)
        if isinstance(value, _UNSTARTED):
            _fail("unusable", f"it returned a {type(value).__name__}: none of it has run", values)
        values.append(bool(value) if job["truthy"] else encode_plain(value))


def _fitting(function: Any, arguments: Sequence[Any]) -> Sequence[Any]:
    """Return the last arguments, as many as the function takes, because some rules do not take the instruction."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & 0x04:  # *args takes all
        return arguments
    takes, optional = code.co_argcount, len(getattr(function, "__defaults__", None) or ())
    if takes - optional == 1 and code.co_varnames[0] in _ANSWERS:
        takes = 1  # the other arguments are settings of the rule
    return arguments[max(0, len(arguments) - takes) :]


class _Output(io.StringIO):
    """The output of a program in the sandbox, up to a maximal length; that of a function is discarded."""

    def __init__(self, most: int | None) -> None:
        super().__init__()
        self._left = most

    def write(self, text: str) -> int:
        if self._left is None:
            return len(text)
        self._left -= len(text)
        if self._left < 0:
            _fail("unusable", "it printed too much", ())
        return super().write(text)


def _forbid_imports_and_files(importable: frozenset[str]) -> None:
    """Refuse imports and files by ending the process, because foreign code could catch an ImportError."""
    load = builtins.__import__

    def guarded(
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002 - the names are Python's
        locals: Mapping[str, object] | None = None,  # noqa: A002 - likewise
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> Any:
        foreign = globals is None or globals.get("__name__") in ("__rule__", "__main__")
        if foreign and (level or name.partition(".")[0] not in importable):
            _fail("forbidden", f"it imports {_short_repr(name)}, which the sandbox does not offer", ())
        return load(name, globals, locals, fromlist, level)

    vars(builtins)["__import__"] = guarded
    sys.meta_path[:] = [_RefusingFinder()]
    sys.addaudithook(_forbid_event)


_FORBIDDEN_EVENTS = (
    "os.",
    "socket.",
    "subprocess.",
    "shutil.",
    "fcntl.",
    "pty.",
    "_thread.",
    "ctypes.dlopen",
    "signal.pthread_kill",
)


def _forbid_event(event: str, arguments: Sequence[object]) -> None:
    """Answer with a readable reason for a forbidden operation before the system kills the process for it."""
    if event == "open":
        name = arguments[0]
        if isinstance(name, str) and name.startswith("<"):
            raise PermissionError  # to report a syntax error, Python tries to read the source, but can do without it
        _fail("forbidden", f"it opens a file ({_short_repr(name)})", ())
    if event.startswith(_FORBIDDEN_EVENTS):
        _fail("forbidden", f"it calls {event}", ())


class _RefusingFinder:
    """A module finder that refuses every module not loaded beforehand."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> Never:  # noqa: ARG002 - the names are Python's
        _fail("forbidden", f"it imports {_short_repr(name)}, which the sandbox does not offer", ())


def _fail(failure: str, reason: str, values: Sequence[Any]) -> Never:
    _answer({"values": list(values), "failure": failure, "reason": reason[:_REASON]})


def _answer(answer: Mapping[str, Any]) -> Never:
    """Write the job's answer and exit at once, without running exit handlers, finalisers or other threads."""
    try:
        data = json.dumps(answer).encode("ascii")
        if len(data) > MOST_ANSWER:
            data = json.dumps({"failure": "unusable", "reason": "its answer is too long"}).encode("ascii")
    except (ValueError, RecursionError, MemoryError):
        data = b'{"failure": "unusable", "reason": "its answer cannot be written"}'
    while data:
        data = data[os.write(ANSWER, data) :]
    os._exit(0)


def _error_text(error: BaseException) -> str:
    name = type(error).__name__
    try:
        message = str(error)
    except BaseException:  # noqa: BLE001 - foreign code's own exception may do anything
        return name
    return f"{name}: {message}" if message else name


def _short_repr(value: object) -> str:
    try:
        return repr(value)[:80]
    except BaseException:  # noqa: BLE001 - likewise
        return f"a {type(value).__name__}"
