"""Checks of the final answer's wording: exactly this text, so many words, or what a regular expression finds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from calipers.errors import ConfigError
from calipers.types import Trajectory, Verdict
from calipers.verifiers.answer import NO_ANSWER, final_answer
from calipers.verifiers.sandbox import Job, Sandbox, shared_sandbox


@dataclass(frozen=True, slots=True)
class Exact:
    """The final answer is ``expected``, or one of several; blanks around it do not count, case may be told not to."""

    expected: str | tuple[str, ...]
    ignore_case: bool = False

    def __post_init__(self) -> None:
        several = self.expected if isinstance(self.expected, tuple) else (self.expected,)
        if not all(several) or not several or not all(isinstance(one, str) for one in several):
            raise ConfigError(f"expected={self.expected!r}: it must be text, or several texts")

    def __call__(self, trajectory: Trajectory) -> Verdict:
        answer = final_answer(trajectory)
        if answer is None:
            return Verdict(None, NO_ANSWER)
        expected = (self.expected,) if isinstance(self.expected, str) else self.expected
        met = self._plain(answer) in map(self._plain, expected)
        return Verdict(met, "" if met else f"the answer is {_short(answer)}")

    def _plain(self, text: str) -> str:
        return text.strip().casefold() if self.ignore_case else text.strip()


@dataclass(frozen=True, slots=True)
class WordCount:
    """The final answer has from ``at_least`` to ``at_most`` words: what spaces and line breaks part."""

    at_least: int | None = None
    at_most: int | None = None

    def __post_init__(self) -> None:
        bounds = [one for one in (self.at_least, self.at_most) if one is not None]
        whole = all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in bounds)
        if not bounds or not whole or bounds != sorted(bounds):
            raise ConfigError(
                f"at_least={self.at_least!r}, at_most={self.at_most!r}: give one or both as whole numbers, the lesser first"
            )

    def __call__(self, trajectory: Trajectory) -> Verdict:
        answer = final_answer(trajectory)
        if answer is None:
            return Verdict(None, NO_ANSWER)
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
class Regex:
    """``pattern`` (Python's ``re``) matches somewhere in the final answer, or (``whole``) all of it.

    An answer can be written so that a pattern with nested repetitions searches for years, so by default the search runs
    in the sandbox, and one that does not end is None. ``confined=False`` searches in this process, much faster:
    for patterns that cannot run away. Raises ConfigError for a pattern that does not compile.
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

    def __call__(self, trajectory: Trajectory) -> Verdict:
        answer = final_answer(trajectory)
        if answer is None:
            return Verdict(None, NO_ANSWER)
        flags = int(re.IGNORECASE) if self.ignore_case else 0
        if not self.confined:
            compiled = re.compile(self.pattern, flags)
            found = compiled.fullmatch(answer) if self.whole else compiled.search(answer)
            return _verdict(self.pattern, met=found is not None)
        job = Job(_SEARCH, "found", ((self.pattern, flags, self.whole, answer),))
        (outcome,) = (self.sandbox or shared_sandbox()).run([job])
        match outcome.values:
            case (bool(met),) if outcome.failure is None:
                return _verdict(self.pattern, met=met)
        return Verdict(None, f"searching {self.pattern!r} brought no verdict: {outcome.reason}")


def _verdict(pattern: str, *, met: bool) -> Verdict:
    return Verdict(met, "" if met else f"{pattern!r} is not found")


def _short(text: str) -> str:
    shown = repr(text.strip())
    return shown if len(shown) <= 100 else f"{shown[:97]}..."
