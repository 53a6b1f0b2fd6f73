"""Verifiers of the final answer's wording: an exact text, a number of words, or a regular expression."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from calipers.errors import ConfigError
from calipers.types import Verdict
from calipers.verifiers.answer import AnswerVerifier, excerpt
from calipers.verifiers.sandbox import Job, Sandbox, shared_sandbox


@dataclass(frozen=True, slots=True)
class Exact(AnswerVerifier):
    """Met if the final answer is ``expected`` or one of several expected texts. White space around the
    answer is ignored.
    """

    expected: str | tuple[str, ...]
    ignore_case: bool = False

    def __post_init__(self) -> None:
        several = self._texts()
        if not all(several) or not several or not all(isinstance(one, str) for one in several):
            raise ConfigError(f"expected={self.expected!r}: it must be text, or several texts")

    def check(self, answer: str) -> Verdict:
        met = self._plain(answer) in map(self._plain, self._texts())
        return Verdict(met, "" if met else f"the answer is {excerpt(answer.strip())}")

    def _texts(self) -> tuple[str, ...]:
        return self.expected if isinstance(self.expected, tuple) else (self.expected,)

    def _plain(self, text: str) -> str:
        return text.strip().casefold() if self.ignore_case else text.strip()


@dataclass(frozen=True, slots=True)
class WordCount(AnswerVerifier):
    """Met if the final answer has from ``at_least`` to ``at_most`` words, separated by white space."""

    at_least: int | None = None
    at_most: int | None = None

    def __post_init__(self) -> None:
        bounds = [one for one in (self.at_least, self.at_most) if one is not None]
        whole = all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in bounds)
        if not bounds or not whole or bounds != sorted(bounds):
            raise ConfigError(
                f"at_least={self.at_least!r}, at_most={self.at_most!r}: give one or both as whole numbers, at_least no "
                "greater than at_most"
            )

    def check(self, answer: str) -> Verdict:
        count = len(answer.split())
        met = (self.at_least or 0) <= count and (self.at_most is None or count <= self.at_most)
        return Verdict(met, "" if met else f"the answer has {count} words")


_SEARCH = """\
import re
def found(pattern, flags, whole, text):
    pattern = re.compile(pattern, flags)
    return bool(pattern.fullmatch(text) if whole else pattern.search(text))
"""


@dataclass(frozen=True, slots=True)
class Regex(AnswerVerifier):
    """Met if ``pattern`` (Python's ``re``) matches somewhere in the final answer, or with ``whole`` the whole answer.

    On some answers, a pattern with nested repetitions would search for years, and a policy can write such an answer. So
    the search runs in the sandbox, and the verdict is None if it does not end. ``confined=False`` searches in this
    process, which is much faster but only safe for patterns that cannot backtrack without bound. Raises ConfigError for
    a pattern that does not compile.
    """

    pattern: str
    ignore_case: bool = False
    whole: bool = False
    confined: bool = True
    sandbox: Sandbox | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except (re.error, TypeError, OverflowError, RecursionError) as error:
            raise ConfigError(f"pattern={self.pattern!r}: not a regular expression: {error}") from None

    def check(self, answer: str) -> Verdict:
        flags = int(re.IGNORECASE) if self.ignore_case else 0
        if self.confined:
            job = Job(_SEARCH, "found", ((self.pattern, flags, self.whole, answer),))
            (outcome,) = (self.sandbox or shared_sandbox()).run([job])
            match outcome.values:
                case (bool(met),) if outcome.failure is None:
                    pass
                case _:
                    return Verdict(None, f"no verdict from the search for {self.pattern!r}: {outcome.reason}")
        else:
            compiled = re.compile(self.pattern, flags)
            met = bool(compiled.fullmatch(answer) if self.whole else compiled.search(answer))
        return Verdict(met, "" if met else f"{self.pattern!r} is not found")
