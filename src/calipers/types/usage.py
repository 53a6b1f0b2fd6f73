"""What calls cost: tokens, dollars, and the calls that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and US dollars. ``cost_usd`` None is *unknown*, which is not 0."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None

    @property
    def is_nonzero(self) -> bool:
        """Whether anything was counted or charged."""
        return bool(self.input_tokens or self.output_tokens or self.cost_usd)

    def to_dict(self) -> dict[str, Any]:
        """The result file's object."""
        return {name: getattr(self, name) for name in self.__slots__}

    @staticmethod
    def total(parts: Sequence[Usage]) -> Usage:
        """The sum. Its cost is unknown when the cost of any part is; an empty sum costs 0."""
        known = [part.cost_usd for part in parts if part.cost_usd is not None]
        return Usage(
            sum(part.input_tokens for part in parts),
            sum(part.output_tokens for part in parts),
            sum(part.cached_tokens for part in parts),
            sum(known, 0.0) if len(known) == len(parts) else None,
        )


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call without a usable answer: the failure's kind, or "broken_off", and the usage that the server reported.

    ``usage`` of zeros is a call that the server did not process (a 429, for example). None means that nothing was
    reported, and that the provider may bill for it.
    """

    kind: str
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class FailedCalls:
    """The sum of all failed calls for one question.

    ``unusable`` counts calls with a billed reply, whose tokens are in ``usage``. ``unmetered`` counts calls that may be
    billed without any report: the cost is then unknown (None).
    """

    count: int = 0
    unusable: int = 0
    unmetered: int = 0
    usage: Usage = Usage(cost_usd=0.0)

    @staticmethod
    def of(calls: Sequence[FailedCall]) -> FailedCalls:
        """The sum of ``calls``."""
        billed = [call.usage for call in calls if call.usage is not None and call.usage.is_nonzero]
        unmetered = sum(call.usage is None for call in calls)
        return FailedCalls(len(calls), len(billed), unmetered, Usage.total([*billed, *[Usage()] * bool(unmetered)]))

    @staticmethod
    def from_dict(recorded: Mapping[str, Any]) -> FailedCalls:
        """The inverse of ``to_dict``."""
        return FailedCalls(**{**recorded, "usage": Usage(**recorded["usage"])})

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for a ledger."""
        numbers = {"count": self.count, "unusable": self.unusable, "unmetered": self.unmetered}
        return {**numbers, "usage": self.usage.to_dict()}


NO_USAGE = Usage()
NO_FAILED_CALLS = FailedCalls()
