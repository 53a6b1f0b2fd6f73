"""The cost of a judge: calls, transcripts read, tokens, dollars; and the measure by which costs are compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Measure: TypeAlias = Literal["usd", "tokens", "shown", "calls"]
"""The unit of a cost: US dollars; tokens in and out; transcripts, counted each time a judge reads them; judge calls."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost: ``calls`` of the judge, ``shown`` transcripts that it read in them, tokens and dollars.

    None is unknown, which is not 0.
    """

    calls: float
    shown: float
    input_tokens: float | None = None
    output_tokens: float | None = None
    cost_usd: float | None = None

    def times(self, factor: float) -> Cost:
        """Return a judge's cost in calibration multiplied by ``factor``."""
        return Cost(self.calls * factor, self.shown * factor, *(_times(one, factor) for one in self._priced()))

    def of(self, measure: Measure) -> float | None:
        """Return the amount of ``measure`` that a judge costs in calibration; None if unknown."""
        match measure:
            case "usd":
                return self.cost_usd
            case "tokens":
                known = self.input_tokens is not None and self.output_tokens is not None
                return (self.input_tokens or 0.0) + (self.output_tokens or 0.0) if known else None
            case "shown":
                return self.shown
            case "calls":
                return self.calls

    def _priced(self) -> tuple[float | None, float | None, float | None]:
        return self.input_tokens, self.output_tokens, self.cost_usd


NOTHING = Cost(0, 0)
"""The cost of a group without any answer."""


def total_cost(costs: Iterable[Cost]) -> Cost:
    """Return the sum of ``costs`` in calibration.

    Tokens and dollars are unknown if they are unknown in any cost.
    """
    found = list(costs)
    priced = (_sum(part) for part in zip(*(one._priced() for one in found), strict=True))  # noqa: SLF001 - one class
    return Cost(sum(one.calls for one in found), sum(one.shown for one in found), *priced)


def shared_measure(costs: Iterable[Cost]) -> Measure:
    """Return the measure that all ``costs`` in calibration have: dollars, otherwise tokens, otherwise transcripts."""
    found = list(costs)
    candidates: tuple[Measure, ...] = ("usd", "tokens")
    for measure in candidates:
        known = [one.of(measure) for one in found]
        if any(known) and None not in known:
            return measure
    return "shown"


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(one for one in known if one is not None)
