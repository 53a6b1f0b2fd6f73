"""The ``code_tests`` verifier: programs and functions in the final answer, tested in the sandbox.

The policy wrote the code, so the code never sees the expected results: the sandbox passes it the inputs, and its
outputs are compared in this process. What the code prints about its own success is ignored.
"""

from __future__ import annotations

import ast
import cmath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from calipers.errors import ConfigError, InputError
from calipers.types import Verdict
from calipers.types.encoding import counted, finite_number
from calipers.verifiers.answer import AnswerVerifier, excerpt, last_code_block
from calipers.verifiers.sandbox import Job, Limits, Outcome, Sandbox
from calipers.verifiers.sandbox.messages import UnplainError, decode_plain, encode_plain

_LANGUAGES = ("python", "py", "python3")
_NO_VERDICT = frozenset({"wall", "lost", "forbidden"})
"""Failures that may be the fault of the machine or of the sandbox instead of the tested code."""


@dataclass(frozen=True, slots=True)
class Call:
    """A test case: ``function(*arguments)`` must return ``expected``. All are plain data; a tuple equals a list."""

    function: str
    arguments: tuple[Any, ...]
    expected: Any


@dataclass(frozen=True, slots=True)
class Run:
    """A test case: given ``stdin``, the program must print ``stdout``. Spaces at the end of a line and empty lines at
    the end of the output are ignored.
    """

    stdin: str
    stdout: str


@dataclass(frozen=True, slots=True)
class CodeTests(AnswerVerifier):
    """Met if the code in the final answer passes all ``cases``. The code is the last Python block, or the whole answer.

    Not met if a result is wrong, the code raises, or it exceeds the sandbox's limits of CPU time or memory. The verdict
    is None if the code asks for something the sandbox does not offer, if it exceeds the limit of elapsed time, or if
    the sandbox fails. Floats are compared within ``tolerance``, relative and absolute. Raises ConfigError for a case
    whose arguments or expected value are not plain data, because no code could pass it.
    """

    cases: tuple[Call | Run, ...]
    tolerance: float = 1e-9
    sandbox: Sandbox | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        cases = self.cases if isinstance(self.cases, Sequence) else ()
        if not cases or not all(isinstance(case, Call | Run) for case in cases):
            raise ConfigError("code_tests: give at least one case, each a Call or a Run")
        if (tolerance := finite_number(self.tolerance)) is None or tolerance < 0:
            raise ConfigError(f"code_tests: tolerance={self.tolerance!r}: it must be a number, 0 or more")
        for number, case in enumerate(self.cases, 1):
            try:
                decode_plain(encode_plain([case.arguments, case.expected] if isinstance(case, Call) else []))
            except UnplainError as error:
                raise ConfigError(f"code_tests: case {number} contains {error}; use plain data only") from None

    def check(self, answer: str) -> Verdict:
        source = last_code_block(answer, _LANGUAGES) or answer
        jobs = [
            Job(source, stdin=case.stdin) if isinstance(case, Run) else Job(source, case.function, (case.arguments,))
            for case in self.cases
        ]
        outcomes = (self.sandbox or _shared_sandbox()).run(jobs)
        unclear = None
        for number, (case, outcome) in enumerate(zip(self.cases, outcomes, strict=True), 1):
            verdict = self._verdict(case, outcome, f"case {number} of {len(self.cases)}")
            if verdict.met is False:
                return verdict
            unclear = unclear or (verdict if verdict.met is None else None)
        return unclear or Verdict(True, f"{counted(len(self.cases), 'case')} passed")

    def _verdict(self, case: Call | Run, outcome: Outcome, where: str) -> Verdict:
        if outcome.failure is not None:
            return Verdict(None if outcome.failure in _NO_VERDICT else False, f"{where}: {outcome.reason}")
        if isinstance(case, Run):
            met = _lines(outcome.output or "") == _lines(case.stdout)
            did = f"printed {excerpt(outcome.output)}"
        else:
            met = len(outcome.values) == 1 and _equal_results(outcome.values[0], case.expected, self.tolerance)
            did = f"returned {excerpt(outcome.values[0] if outcome.values else None)}"
        return Verdict(met, "" if met else f"{where}: it {did}")


def cases_from_asserts(text: str) -> tuple[Call, ...]:
    """Return a code verifier's test cases from ``assert f(1, [2]) == 3`` lines (MBPP's format).

    Raises InputError for any other line.

    Both sides must be literals. Any other expression would have to run in one process with the tested code, which could
    then decide its own verdict.
    """
    try:
        statements = ast.parse(text).body
    except SyntaxError as error:
        raise InputError(f"the tests are not Python: {error.msg}", line=error.lineno) from None
    return tuple(_case(statement) for statement in statements)


def _case(statement: ast.stmt) -> Call:
    match statement:
        case ast.Assert(
            test=ast.Compare(
                left=ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]),
                ops=[ast.Eq()],
                comparators=[right],
            )
        ):
            try:
                values = tuple(ast.literal_eval(argument) for argument in arguments)
                return Call(function, values, ast.literal_eval(right))
            except ValueError:
                pass
    raise InputError("write `assert f(literals) == literal`, or give the cases as Call", line=statement.lineno)


def _equal_results(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether a tested function returned the expected value. A tuple equals a list, and True is not 1."""
    if isinstance(expected, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(expected)
            and all(_equal_results(left, right, tolerance) for left, right in zip(found, expected, strict=True))
        )
    if isinstance(expected, dict):
        return (
            isinstance(found, Mapping)
            and len(found) == len(expected)
            and all(key in found for key in expected)
            and all(_equal_results(found[key], value, tolerance) for key, value in expected.items())
        )
    if isinstance(expected, bool) or isinstance(found, bool) or expected is None:
        return found is expected
    if isinstance(expected, float | complex) and isinstance(found, int | float | type(expected)):
        return _equal_numbers(found, expected, tolerance)
    return bool(found == expected)


def _equal_numbers(found: complex, expected: complex, tolerance: float) -> bool:
    """Whether two numbers are equal within ``tolerance``. NaN equals NaN, since a test case may expect it."""
    if cmath.isnan(expected):
        return not isinstance(found, int) and cmath.isnan(found)
    try:
        return cmath.isclose(found, expected, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:  # the integer is too large for a float
        return False


def _lines(text: str) -> Sequence[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


@cache
def _shared_sandbox() -> Sandbox:
    """Return the sandbox that all ``CodeTests`` without a sandbox of their own share."""
    return Sandbox(limits=Limits(cpu_seconds=4, wall_seconds=30.0))
