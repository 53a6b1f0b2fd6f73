"""The final answer of a trajectory, and verifiers of it: its text, its words, a number, JSON.

The final answer is the last assistant message without its reasoning.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal, InvalidOperation, Overflow
from typing import Any

from calipers.errors import ConfigError
from calipers.interfaces import Verifier
from calipers.registry import import_library
from calipers.types import Message, Trajectory, Verdict
from calipers.types.encoding import finite_number
from calipers.verifiers.sandbox import Job, Sandbox, shared_sandbox

NO_ANSWER = "there is no answer to check"

_OPEN, _CLOSE = "<think>", "</think>"
_FENCE = re.compile(r"^(?:```|~~~)[ \t]*([\w+#.-]*)[^\n]*\n(.*?)^(?:```|~~~)[ \t]*$", re.DOTALL | re.MULTILINE)


class AnswerVerifier(ABC):
    """A verifier that checks only the final answer. Its verdict is None if the trajectory has no final answer."""

    __slots__ = ()

    @abstractmethod
    def check(self, answer: str) -> Verdict:
        """Return the verdict on the final answer ``answer``."""

    def __call__(self, trajectory: Trajectory) -> Verdict:
        answer = final_answer(trajectory)
        return Verdict(None, NO_ANSWER) if answer is None else self.check(answer)


def final_answer(trajectory: Trajectory) -> str | None:
    """Return the final answer for a verifier: the last assistant message's text after its reasoning.

    None if the trajectory has no such text.

    An unclosed ``<think>`` means that the model never reached its answer: the result is None.
    """
    for message in reversed(trajectory.messages):
        if message.get("role") == "assistant":
            text = message_text(message)
            return None if text is None else without_reasoning(text)
    return None


def without_reasoning(text: str) -> str | None:
    """Return the final answer to verify, after the last ``</think>``.

    None if a ``<think>`` is still open at the end.
    """
    before, closed, after = text.rpartition(_CLOSE)
    rest = after if closed else before or text
    return None if _OPEN in rest else rest.strip() if closed else rest


def message_text(message: Message) -> str | None:
    """Return the text of a message to verify, with its text parts joined, or None if it has no text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        return "".join(
            part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        )
    return None


def last_code_block(text: str, languages: tuple[str, ...] = ()) -> str | None:
    """Return the content of the last fenced code block in a final answer to verify, or None if there is no block.

    Blocks in one of ``languages`` (lower case) are preferred to blocks in any other language.
    """
    blocks = _FENCE.findall(text)
    named = [body for language, body in blocks if language.lower() in languages]
    bodies = named or [body for _, body in blocks]
    return bodies[-1] if bodies else None


def excerpt(value: object) -> str:
    """Return ``value`` in Python's notation, cut to 100 characters, for the reason in a verifier's verdict."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def answered() -> Verifier:
    """Return the verifier ``has_answer``. Rules files name it as ``answered``."""
    return has_answer


def has_answer(trajectory: Trajectory) -> Verdict:
    """Return the verifier's verdict on whether the trajectory has a final answer that is not empty.

    This verifier can serve as a gate.
    """
    if (final_answer(trajectory) or "").strip():
        return Verdict(True)
    return Verdict(False, "there is no answer")


@dataclass(frozen=True, slots=True)
class Exact(AnswerVerifier):
    """Met if the final answer is ``expected`` or one of several expected texts. White space around the
    answer is ignored.
    """

    expected: str | tuple[str, ...]
    ignore_case: bool = False

    def __post_init__(self) -> None:
        several = self.expected if isinstance(self.expected, tuple) else (self.expected,)
        if not several or not all(isinstance(text, str) and text for text in several):
            raise ConfigError(f"expected={self.expected!r}: it must be text, or several texts")

    def check(self, answer: str) -> Verdict:
        texts = (answer, *(self.expected if isinstance(self.expected, tuple) else (self.expected,)))
        stated, *wanted = (text.strip().casefold() if self.ignore_case else text.strip() for text in texts)
        met = stated in wanted
        return Verdict(met, "" if met else f"the answer is {excerpt(answer.strip())}")


@dataclass(frozen=True, slots=True)
class WordCount(AnswerVerifier):
    """Met if the final answer has from ``at_least`` to ``at_most`` words, separated by white space."""

    at_least: int | None = None
    at_most: int | None = None

    def __post_init__(self) -> None:
        bounds = [bound for bound in (self.at_least, self.at_most) if bound is not None]
        whole = all(isinstance(bound, int) and not isinstance(bound, bool) and bound >= 0 for bound in bounds)
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


_NUMBER = re.compile(
    r"(?<![\w.])[-+−]?(?=\.?\d)(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,400})?(?:\.\d{1,400})?(?:[eE][-+]?\d{1,4})?(?!\d)"
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
        numbers = _NUMBER.findall(answer)
        if not numbers:
            return Verdict(False, "there is no number in the answer")
        stated = Decimal(numbers[-1 if self.after is None else 0].replace(",", "").replace("−", "-"))
        expected = Decimal(str(self.expected))
        allowed = max(Decimal(str(self.tolerance)), Decimal(str(self.relative)) * abs(expected))
        met = abs(_EXACT.subtract(stated, expected)) <= allowed
        return Verdict(met, "" if met else f"the answer is {stated:g}")


@dataclass(frozen=True, slots=True)
class JsonSchema(AnswerVerifier):
    """Met if the final answer (its last JSON block, or all of it) is JSON that follows ``schema``.

    References are resolved within the schema only: nothing is fetched. ``pattern`` keywords are searched in this
    process without a time limit, so they must not backtrack without bound. Needs ``calipers[verifiers]``. Raises
    ConfigError if that extra is missing or the schema is invalid.
    """

    schema: Mapping[str, Any] | bool

    def __post_init__(self) -> None:
        remedy = "checking JSON schemas needs jsonschema: pip install 'calipers[verifiers]'"
        library = import_library("jsonschema", remedy=remedy)
        try:
            library.validators.validator_for(self.schema).check_schema(self.schema)
        except library.SchemaError as error:
            raise ConfigError(f"schema: not a JSON schema: {error.message} (at {error.json_path})") from None

    def check(self, answer: str) -> Verdict:
        from jsonschema.exceptions import best_match  # noqa: PLC0415 - an extra
        from jsonschema.validators import validator_for  # noqa: PLC0415 - likewise
        from referencing import Registry  # noqa: PLC0415 - a part of jsonschema
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - likewise

        text = last_code_block(answer, ("json", "json5", "jsonc")) or answer
        try:
            value = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            return Verdict(False, f"the answer is not JSON: {error}")
        nothing_fetched: Registry[Any] = Registry()
        try:
            validator = validator_for(self.schema)(self.schema, registry=nothing_fetched)
            fault = best_match(validator.iter_errors(value))
        except Unresolvable as missing:
            return Verdict(None, f"the schema refers to {missing.ref!r}, which is not in it")
        except RecursionError:
            return Verdict(None, "the answer is nested too deeply to be checked")
        return Verdict(fault is None, "" if fault is None else f"at {fault.json_path}: {fault.message[:200]}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
