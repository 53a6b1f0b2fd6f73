r"""The ``maths`` verifier: whether the final answer equals an expected number, expression, set, word or option.

math-verify compares the two answers (``maths_comparison``), in a sandbox that stops it if it takes too long.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec

from calipers.errors import ConfigError
from calipers.types import Verdict
from calipers.verifiers.answer import AnswerVerifier
from calipers.verifiers.sandbox import Job, Limits, Sandbox

_MODULE = "calipers.verifiers.maths_comparison"
_LONGEST = 2_000
_ANSWER_IS = re.compile(r"(?:answer|result)\s*\**\s*(?:is|:|=)\s*:?\**\s*|####\s*", re.IGNORECASE)
_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_PROSE = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{2,} [A-Za-z]{2,}")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:/\d+)?")


@dataclass(frozen=True, slots=True)
class MathsEquivalence(AnswerVerifier):
    r"""Met if the final answer equals ``expected``, in LaTeX or plain text, bare, boxed or in a solution.

    The answer is read from the last box, else after ``The answer is``, else from the last formula or the last number.
    The verdict is None, with a reason, if the two cannot be compared: answers in words that are not the same words,
    formulas in other variables or units, rounded numbers that are only close. Needs ``calipers[maths]``; raises
    ConfigError if that extra is missing.
    """

    expected: str
    sandbox: Sandbox | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.expected, str) or not self.expected.strip():
            raise ConfigError(
                f"expected={self.expected!r}: it must be an expression, as in '3x^2', '42' or '\\text{{east}}'"
            )
        if find_spec("math_verify") is None:
            raise ConfigError("comparing mathematical answers needs math-verify: pip install 'calipers[maths]'")

    def check(self, answer: str) -> Verdict:
        stated = stated_answer(answer)
        if not stated or len(stated) > _LONGEST or len(self.expected) > _LONGEST:
            return Verdict(None, "there is no mathematical answer to compare, or it is too long")
        job = Job(f"from {_MODULE} import compare", "compare", ((_unwrapped(self.expected).strip("$ "), stated),))
        (outcome,) = (self.sandbox or _maths_sandbox()).run([job])
        match outcome.values:
            case ([bool() | None as met, str(reason)],) | ((bool() | None as met, str(reason)),):
                return Verdict(met, reason)
        return Verdict(None, f"the comparison failed: {outcome.reason}")


def stated_answer(text: str) -> str:
    r"""Return what an answer states: its last box, else what follows "answer is", else its last formula or number."""
    boxed = _unwrapped(text)
    if boxed != text.strip():
        return boxed
    announced = list(_ANSWER_IS.finditer(text))
    if announced:
        text = text[announced[-1].end() :].split("\n\n", 1)[0]
    if formulas := list(_FORMULA.finditer(text)):
        return next(part for part in formulas[-1].groups() if part).strip()
    text = text.strip().rstrip(".").strip("*$ ")
    numbers = _NUMBER.findall(text)
    return numbers[-1] if numbers and not announced and _PROSE.search(text) else text


def _unwrapped(text: str) -> str:
    """Return the content of a text's last box, or the text itself if it has no box that closes."""
    text = text.strip()
    place = max(text.rfind(r"\boxed{"), text.rfind(r"\fbox{"))
    start, depth = text.find("{", place) + 1, 1
    for end in range(start, len(text)) if place >= 0 else ():
        depth += {"{": 1, "}": -1}.get(text[end], 0) if text[end - 1] != "\\" else 0
        if not depth:
            return text[start:end].strip()
    return text


@cache
def _maths_sandbox() -> Sandbox:
    """Return the sandbox in which math-verify is loaded. Its first job takes some seconds."""
    return Sandbox(
        limits=Limits(cpu_seconds=3, wall_seconds=20, memory_bytes=2**30),
        modules=(_MODULE,),
        warm_up=f"from {_MODULE} import warm_up\nwarm_up()",
        isolation="confined" if sys.platform == "linux" else "limits",
    )
