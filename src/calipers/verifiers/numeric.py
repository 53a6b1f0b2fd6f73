"""The ``numeric`` verifier: a number in the final answer, compared with the expected number.

The ``maths`` verifier compares expressions, units and fractions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation, Overflow

from calipers.errors import ConfigError
from calipers.types import Verdict
from calipers.types.encoding import finite_number
from calipers.verifiers.answer import AnswerVerifier

_NUMBER = re.compile(
    r"(?<![\w.])[-+−]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,400})?(?:\.\d{1,400})?(?:[eE][-+]?\d{1,4})?(?![\d])"
)
_EXACT = Context(prec=400, traps=[InvalidOperation, Overflow])


@dataclass(frozen=True, slots=True)
class Numeric(AnswerVerifier):
    """Met if a number in the final answer is close enough to ``expected``.

    The allowed difference is the larger of ``tolerance`` and ``relative`` times ``expected``. The compared number is
    the first number after the last ``after`` (such as ``"####"``), or without ``after`` the last number in the answer.
    Commas may separate thousands. A percent sign or a unit after the number is ignored. An answer without a number is
    not met.
    """

    expected: float
    tolerance: float = 0.0
    relative: float = 0.0
    after: str | None = None

    def __post_init__(self) -> None:
        for name in ("expected", "tolerance", "relative"):
            if finite_number(value := getattr(self, name)) is None:
                raise ConfigError(f"{name}={value!r}: it must be a finite number")
        if self.tolerance < 0 or self.relative < 0:
            raise ConfigError(f"tolerance={self.tolerance!r}, relative={self.relative!r}: neither may be negative")

    def check(self, answer: str) -> Verdict:
        if self.after is not None:
            _, marked, answer = answer.rpartition(self.after)
            if not marked:
                return Verdict(False, f"{self.after!r} is not in the answer")
        numbers = [number for text in _NUMBER.findall(answer) if (number := _read(text)) is not None]
        if not numbers:
            return Verdict(False, "there is no number in the answer")
        found = numbers[-1] if self.after is None else numbers[0]
        expected = Decimal(str(self.expected))
        allowed = max(Decimal(str(self.tolerance)), Decimal(str(self.relative)) * abs(expected))
        met = abs(_EXACT.subtract(found, expected)) <= allowed
        return Verdict(met, "" if met else f"the answer is {found:g}")


def _read(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace(",", "").replace("−", "-"))
    except InvalidOperation:
        return None
