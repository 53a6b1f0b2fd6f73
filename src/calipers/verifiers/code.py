"""Programs and functions in the final answer, tested in the sandbox.

The policy wrote the code, so the code never sees the expected results: it gets inputs, and its outputs are compared
here. What it prints about its own success is ignored.
"""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

from calipers.errors import ConfigError, InputError
from calipers.types import Verdict
from calipers.verifiers.answer import AnswerVerifier, excerpt, fenced
from calipers.verifiers.sandbox import Job, Limits, Outcome, Sandbox
from calipers.verifiers.sandbox.plain import UnplainError, encoded

_LANGUAGES = ("python", "py", "python3")
_NO_VERDICT = frozenset({"wall", "lost", "forbidden"})
"""Failures that may be due to the machine or the sandbox, and not to the code."""


@dataclass(frozen=True, slots=True)
class Call:
    """``function(*arguments)`` must return ``expected``: plain data; tuples and lists are equal."""

    function: str
    arguments: tuple[Any, ...]
    expected: Any


@dataclass(frozen=True, slots=True)
class Run:
    """The program reads ``stdin`` and must print ``stdout``, but for spaces at line ends and empty lines at the end."""

    stdin: str
    stdout: str


@dataclass(frozen=True, slots=True)
class CodeTests(AnswerVerifier):
    """The code in the final answer (its last Python block; without blocks, all of it) passes all ``cases``.

    Wrong results, exceptions, and CPU or memory beyond the sandbox's limits are the code's fault: not met. The verdict
    is None if the code asks for what the sandbox does not offer, if time by the clock runs out, or if the sandbox
    fails. Floats are compared within ``tolerance``, relative and absolute. Raises ConfigError for a case whose
    arguments or expected value are not plain data: no code could pass it.
    """

    cases: tuple[Call | Run, ...]
    tolerance: float = 1e-9
    sandbox: Sandbox | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.cases or not all(isinstance(case, Call | Run) for case in self.cases):
            raise ConfigError("code_tests: give at least one case, each a Call or a Run")
        if isinstance(self.tolerance, bool) or not 0 <= self.tolerance < math.inf:
            raise ConfigError(f"code_tests: tolerance={self.tolerance!r}: it must be a number, 0 or more")
        for number, case in enumerate(self.cases, 1):
            try:
                encoded([case.arguments, case.expected] if isinstance(case, Call) else [])
            except UnplainError as error:
                raise ConfigError(f"code_tests: case {number} holds {error}, and only plain data is compared") from None

    def check(self, answer: str) -> Verdict:
        source = fenced(answer, _LANGUAGES) or answer
        outcomes = (self.sandbox or _shared()).run([_job(source, case) for case in self.cases])
        unclear = None
        for number, (case, outcome) in enumerate(zip(self.cases, outcomes, strict=True), 1):
            verdict = self._verdict(case, outcome, f"case {number} of {len(self.cases)}")
            if verdict.met is False:
                return verdict
            unclear = unclear or (verdict if verdict.met is None else None)
        return unclear or Verdict(True, f"{len(self.cases)} cases passed")

    def _verdict(self, case: Call | Run, outcome: Outcome, where: str) -> Verdict:
        if outcome.failure is not None:
            return Verdict(None if outcome.failure in _NO_VERDICT else False, f"{where}: {outcome.reason}")
        if isinstance(case, Run):
            met = _lines(outcome.output or "") == _lines(case.stdout)
            did = f"printed {excerpt(outcome.output)}"
        else:
            met = len(outcome.values) == 1 and _same(outcome.values[0], case.expected, self.tolerance)
            did = f"returned {excerpt(outcome.values[0] if outcome.values else None)}"
        return Verdict(met, "" if met else f"{where}: it {did}")


def cases_from_asserts(text: str) -> tuple[Call, ...]:
    """``assert f(1, [2]) == 3`` lines (MBPP's form) as cases. Raises InputError naming a line of another form.

    Only calls with literal arguments, compared with a literal: anything else would have to run beside the code it
    tests, which could then decide its own verdict.
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
                given = tuple(ast.literal_eval(argument) for argument in arguments)
                return Call(function, given, ast.literal_eval(right))
            except ValueError:
                pass
    raise InputError("write `assert f(literals) == literal`, or give the cases as Call", line=statement.lineno)


def _job(source: str, case: Call | Run) -> Job:
    if isinstance(case, Run):
        return Job(source, stdin=case.stdin)
    return Job(source, case.function, (case.arguments,))


def _same(found: Any, expected: Any, tolerance: float) -> bool:
    """Equal as plain data: tuples are lists, True is not 1, numbers may differ by a rounding."""
    if isinstance(expected, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(expected)
            and all(_same(one, other, tolerance) for one, other in zip(found, expected, strict=True))
        )
    if isinstance(expected, dict):
        return (
            isinstance(found, Mapping)
            and len(found) == len(expected)
            and all(key in found for key in expected)
            and all(_same(found[key], value, tolerance) for key, value in expected.items())
        )
    if isinstance(expected, bool) or isinstance(found, bool) or expected is None:
        return found is expected
    if isinstance(expected, complex) and isinstance(found, int | float | complex):
        return _close(found, expected, tolerance)
    if isinstance(expected, float) and isinstance(found, int | float):
        return _close(found, expected, tolerance)
    return bool(found == expected)


def _close(found: complex, expected: complex, tolerance: float) -> bool:
    """Whether a number is the expected one but for rounding. NaN is NaN: a function may have to return it."""
    if cmath.isnan(expected):
        return not isinstance(found, int) and cmath.isnan(found)
    try:
        return cmath.isclose(found, expected, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:  # an integer that no float can hold
        return not isinstance(expected, complex) and math.isfinite(expected) and _near(found, expected, tolerance)


def _near(found: complex, expected: float, tolerance: float) -> bool:
    """As ``math.isclose``, in exact arithmetic."""
    assert isinstance(found, int)  # noqa: S101 - nothing else overflows
    one, other = Fraction(found), Fraction(expected)
    return abs(one - other) <= Fraction(tolerance) * max(abs(one), abs(other), Fraction(1))


def _lines(text: str) -> Sequence[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


@cache
def _shared() -> Sandbox:
    """The sandbox of all tests without their own."""
    return Sandbox(limits=Limits(cpu_seconds=4, wall_seconds=30.0))
