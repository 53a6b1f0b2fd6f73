r"""Whether the final answer is the one expected: a number, expression, point, interval, set, word or option.

What is expected is given bare, as in public data sets (``3\sqrt{13}``, ``\text{Evelyn}``, ``C``). Not responsible for
how two answers are compared (``expressions``).
"""

from __future__ import annotations

from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.types import Verdict
from calipers.verifiers.answer import AnswerVerifier
from calipers.verifiers.expressions import compared


@dataclass(frozen=True, slots=True)
class MathsEquivalence(AnswerVerifier):
    r"""The final answer is ``expected``: in LaTeX or plain, bare or within ``$``, ``\boxed{}`` or a solution's text.

    The answer is taken from the last box, else from behind ``The answer is``, the last formula or the last number. True
    and False are claims. The verdict is None, with a reason, if the two may be the same answer but need not be, or if
    one of them cannot be read.
    """

    expected: str

    def __post_init__(self) -> None:
        if not isinstance(self.expected, str) or not self.expected.strip():
            raise ConfigError(
                f"expected={self.expected!r}: it must be an expression, as in '3x^2', '42' or '\\text{{east}}'"
            )

    def check(self, answer: str) -> Verdict:
        return Verdict(*compared(self.expected, answer))
