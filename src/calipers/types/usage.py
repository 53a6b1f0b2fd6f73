"""What calls to a judge cost: tokens, US dollars, and the calls that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and US dollars. ``cost_usd=None`` means that the cost is unknown, which is not 0."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None

    @property
    def is_nonzero(self) -> bool:
        """Whether any tokens were counted or any dollars charged."""
        return bool(self.input_tokens or self.output_tokens or self.cost_usd)

    def to_dict(self) -> dict[str, Any]:
        """Return an answer's usage as data: an object of the result file."""
        return {name: getattr(self, name) for name in self.__slots__}

    def without(self, part: Usage) -> Usage:
        """Return the usage of answers, as data, without a part of it; the cost is unknown if either is."""
        known = self.cost_usd is not None and part.cost_usd is not None
        return Usage(
            self.input_tokens - part.input_tokens,
            self.output_tokens - part.output_tokens,
            self.cached_tokens - part.cached_tokens,
            (self.cost_usd or 0.0) - (part.cost_usd or 0.0) if known else None,
        )

    @staticmethod
    def total(parts: Sequence[Usage]) -> Usage:
        """Add up the usages of answers, as data.

        The sum's cost is unknown if the cost of any part is; an empty sum costs 0.
        """
        tokens_in = tokens_out = cached = 0
        cost: float | None = 0.0
        for part in parts:
            tokens_in += part.input_tokens
            tokens_out += part.output_tokens
            cached += part.cached_tokens
            cost = None if cost is None or part.cost_usd is None else cost + part.cost_usd
        return Usage(tokens_in, tokens_out, cached, cost)


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call without a usable answer: the kind of failure, or "broken_off", and the usage that the server reported.

    ``usage`` of zeros means that the server did not process the call (a 429, for example). None means that the server
    reported nothing, and that the provider may bill for the call.
    """

    kind: str
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class FailedCalls:
    """The sum of all failed calls for one question.

    ``unusable`` counts calls with a billed reply, whose tokens are in ``usage``. ``unmetered`` counts calls that may be
    billed without any report, which makes the cost unknown (None).
    """

    count: int = 0
    unusable: int = 0
    unmetered: int = 0
    usage: Usage = Usage(cost_usd=0.0)

    @staticmethod
    def of(calls: Sequence[FailedCall]) -> FailedCalls:
        """Add up failed ``calls``, which brought no answer, as data."""
        billed = [call.usage for call in calls if call.usage is not None and call.usage.is_nonzero]
        unmetered = sum(call.usage is None for call in calls)
        return FailedCalls(len(calls), len(billed), unmetered, Usage.total([*billed, *[Usage()] * bool(unmetered)]))

    @staticmethod
    def from_dict(recorded: Mapping[str, Any]) -> FailedCalls:
        """Read the sum of calls that failed to bring an answer from data: the result of ``to_dict``."""
        return FailedCalls(**{**recorded, "usage": Usage(**recorded["usage"])})

    def to_dict(self) -> dict[str, Any]:
        """Return the type as data: the sum of the calls that failed to bring an answer, as the ledger stores it."""
        return asdict(self)


NO_USAGE = Usage()
NO_FAILED_CALLS = FailedCalls()
