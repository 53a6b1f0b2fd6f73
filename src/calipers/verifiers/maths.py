r"""The ``maths`` verifier: whether the final answer equals an expected number, expression, set, word or option.

The expected answer is given bare, as in public data sets (``3\sqrt{13}``, ``\text{Evelyn}``, ``C``). ``expressions``
compares the two answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.types import Verdict
from calipers.verifiers.answer import AnswerVerifier
from calipers.verifiers.expressions import compare_answers


@dataclass(frozen=True, slots=True)
class MathsEquivalence(AnswerVerifier):
    r"""Met if the final answer equals ``expected``, in LaTeX or plain text, bare, boxed or in a solution.

    The answer is read from the last box, else after ``The answer is``, else from the last formula or the last number.
    The verdict is True or False only if the comparison is certain. It is None, with a reason, if the two may or may not
    be the same answer, or if one of them cannot be read.
    """

    expected: str

    def __post_init__(self) -> None:
        if not isinstance(self.expected, str) or not self.expected.strip():
            raise ConfigError(
                f"expected={self.expected!r}: it must be an expression, as in '3x^2', '42' or '\\text{{east}}'"
            )

    def check(self, answer: str) -> Verdict:
        return Verdict(*compare_answers(self.expected, answer))
