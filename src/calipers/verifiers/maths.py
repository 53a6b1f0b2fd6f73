"""Whether the final answer equals a mathematical expression, by ``math-verify``: LaTeX, fractions, sets, intervals.

A wrapper, and no maths of its own. The comparison runs in the sandbox, for a computer algebra system can be made to
work for ever, and its own time limit works in a main thread only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec

from calipers.errors import ConfigError
from calipers.types import Trajectory, Verdict
from calipers.verifiers.answer import NO_ANSWER, final_answer
from calipers.verifiers.sandbox import Job, Limits, Sandbox

_EQUAL = """\
from math_verify import parse, verify
def equal(expected, answer):
    wanted = parse(expected, parsing_timeout=None)
    if not wanted:
        return "expected"
    found = parse(answer, parsing_timeout=None)
    if not found:
        return "answer"
    return bool(verify(wanted, found, timeout_seconds=None))
"""
_WARM_UP = (
    _EQUAL
    + r"""
for text in ("$\\frac{1}{2}$", "0.5", "$\\{1,2\\}$", "$(1,2]$", "$x^2+2x$", "$\\sqrt{8}$", "$x=3$", "$x<3$", "50\\%", "$\\log_2 8$",
             "$\\begin{pmatrix}1\\\\2\\end{pmatrix}$", "$\\int_0^1 x dx$", "$\\sin(x)+i$", "$\\infty$", "$5!$", "$1,2,3$", "\\boxed{x}"):
    for other in ("$0.5$", text, "$(x+1)^2$", "$x=\\frac{6}{2}$", "$(1,2]\\cup[3,4)$"):
        equal(text, other)
"""
)
"""Expressions of every kind, so that what the algebra system imports late is there before there are no files."""
_LIMITS = Limits(cpu_seconds=5, wall_seconds=20.0, memory_bytes=1024 * 2**20)


@dataclass(frozen=True, slots=True)
class MathsEquivalence:
    r"""The expression in the final answer equals ``expected`` (``"$\frac{1}{2}$"``, ``"0.5"``, ``"\boxed{...}"``).

    An answer without an expression is not met; a comparison that does not end is None. Needs ``calipers[verifiers]``
    (ConfigError without it).
    """

    expected: str
    sandbox: Sandbox | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.expected, str) or not self.expected.strip():
            raise ConfigError(f"expected={self.expected!r}: it must be an expression, as in '$x^2$' or '42'")
        if find_spec("math_verify") is None:
            raise ConfigError("maths equivalence needs math-verify: pip install 'calipers[verifiers]'")

    def __call__(self, trajectory: Trajectory) -> Verdict:
        answer = final_answer(trajectory)
        if answer is None:
            return Verdict(None, NO_ANSWER)
        (outcome,) = (self.sandbox or _shared()).run([Job(_EQUAL, "equal", ((self.expected, answer),))])
        match outcome.values:
            case (bool(met),):
                return Verdict(met, "" if met else f"the answer does not equal {self.expected}")
            case ("answer",):
                return Verdict(False, "there is no expression in the answer")
            case ("expected",):
                return Verdict(None, f"expected={self.expected!r} holds no expression that math-verify can read")
        return Verdict(None, f"comparing with {self.expected!r} brought no verdict: {outcome.reason}")


@cache
def _shared() -> Sandbox:
    """One warm server for all expressions: loading the algebra system takes seconds."""
    return Sandbox(limits=_LIMITS, modules=("math_verify", "latex2sympy2_extended", "antlr4"), warm_up=_WARM_UP)
