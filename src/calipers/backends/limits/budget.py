"""A backend that spends no more than a budget of calls, tokens and US dollars.

Before a call, the highest possible cost of the call is reserved. After the call, its real cost replaces this amount. So
the calls in flight cannot exceed the budget together. Answers from the ledger cost nothing and do not pass this module.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from calipers.backends.context_window import question_bytes
from calipers.backends.limits.admission import Admission
from calipers.backends.limits.metered import COSTS_NOTHING
from calipers.backends.limits.prices import Pricing, price_list_hint
from calipers.backends.limits.wrapper import Wrapper
from calipers.errors import BackendError, ConfigError, PermanentError
from calipers.interfaces import Backend
from calipers.types import Completion, JudgeRequest, Usage

_log = logging.getLogger("calipers.calls")

_BYTES_A_TOKEN = 3.0
"""Fewer bytes per token than English text has (about 4), so that the reserved amount is seldom too small."""

_REPLY_TOKENS = 8192
"""The tokens reserved for a reply without a token limit."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a judge may spend in its lifetime; None means no limit. ``tokens`` counts input and output together."""

    calls: float | None = None
    tokens: float | None = None
    usd: float | None = None

    @staticmethod
    def of(given: object) -> Budget:
        """Return the Budget for a backend's calls that ``given`` states: a Budget, or a mapping such as ``{"calls":
        1000, "usd": 5.0}``.

        Raises ConfigError for anything else.
        """
        known = [field.name for field in fields(Budget)]
        if isinstance(given, Mapping):
            if not given or (set(given) - set(known)):
                raise ConfigError(
                    f"budget={dict(given)!r}: it takes {', '.join(known)}, as in usd=5, in Python {{'usd': 5.0}}"
                )
            given = Budget(**given)
        if not isinstance(given, Budget):
            raise ConfigError(f"budget={given!r}: write {{'calls': 1000}}, {{'tokens': 2e6}} or {{'usd': 5.0}}")
        for name in known:
            amount = getattr(given, name)
            if amount is not None and (
                not isinstance(amount, int | float) or isinstance(amount, bool) or not 0 < amount < math.inf
            ):
                raise ConfigError(f"budget: {name}={amount!r}: it must be a finite number above 0")
        return given


@dataclass(slots=True)
class _Amount:
    calls: float = 0
    tokens: float = 0
    usd: float = 0.0

    def add(self, other: _Amount, *, sign: int = 1) -> None:
        self.calls += sign * other.calls
        self.tokens += sign * other.tokens
        self.usd += sign * other.usd


class SharedBudget:
    """A budget that several backends spend from, with the amounts spent and reserved so far."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._spent = _Amount()
        self._held = _Amount()
        self._admission: Admission[_Amount] = Admission()
        self._told = False

    @property
    def spent(self) -> Mapping[str, float]:
        """Return the calls, tokens and dollars spent so far, without the calls in flight."""
        return {"calls": self._spent.calls, "tokens": self._spent.tokens, "usd": self._spent.usd}

    async def reserve(self, claim: _Amount) -> bool:
        """Reserve ``claim`` of the budget for a call to the backend and return True, or return False if the budget
        cannot cover it.

        The caller waits while calls in flight may release enough of what they reserved.
        """
        return await self._admission.enter(lambda: self._take(claim), undo=self._give_back) is claim

    def tell_spent(self, limit: str) -> None:
        """Log once that the budget is spent, with the ``limit`` that a call would exceed."""
        if not self._told:
            self._told = True
            _log.warning("the budget is spent, and no further call is made: %s", limit)

    def charge(self, claim: _Amount, spent: _Amount) -> None:
        """Release the reserved ``claim``, and add what the call to the backend spent."""
        self._admission.change(lambda: self._charge(claim, spent))

    def exceeded_limit(self, claim: _Amount, *, held: _Amount | None = None) -> str:
        """Return in words which limit of the backend's budget ``claim`` exceeds, or an empty text if none."""
        for field in fields(self.budget):
            name, limit = field.name, getattr(self.budget, field.name)
            spent, asked = getattr(self._spent, name), getattr(claim, name)
            if limit is not None and spent + asked + (getattr(held, name) if held else 0) > limit * (1 + 1e-9):
                return _limit_text(name, limit=limit, spent=spent, asked=asked)
        return ""

    def _take(self, claim: _Amount) -> _Amount | None:
        """Return ``claim`` if it is reserved now, another amount if it can never fit, or None if the caller must wait.

        The caller waits while calls in flight may release some of what they reserved.
        """
        if not self.exceeded_limit(claim, held=self._held):
            self._held.add(claim)
            return claim
        return _Amount() if self._held.calls == 0 or self.exceeded_limit(claim) else None

    def _give_back(self, held: _Amount) -> None:
        self._held.add(held, sign=-1)

    def _charge(self, claim: _Amount, spent: _Amount) -> None:
        self._held.add(claim, sign=-1)
        self._spent.add(spent)


class Budgeted(Wrapper):
    """Calls ``backend`` until ``budget`` is spent. From then on every request fails with kind "budget".

    A request that exceeds the rest of the budget waits while calls in flight may release some of what they reserved.
    This wrapper belongs outside ``Metered``, which fills in costs. It belongs inside retries, so that every attempt
    counts. Raises ConfigError for a dollar budget without a ``pricing``, and for a budget that one reply of
    ``max_tokens`` could exceed.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        budget: Budget | SharedBudget,
        pricing: Pricing | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self._shared = budget if isinstance(budget, SharedBudget) else SharedBudget(budget)
        if self._shared.budget.usd is not None and (pricing is None or pricing(Usage(1, 1)) is None):
            raise ConfigError(
                f"a budget in dollars needs the price of {backend.model!r}, which is not known: give "
                'calls={"price": (INPUT, OUTPUT)} in dollars per million tokens (--price IN,OUT)'
                f"{price_list_hint()}"
            )
        super().__init__(backend)
        self._pricing = pricing
        least = self._amount(Usage(0, _REPLY_TOKENS if max_tokens is None else max_tokens))
        if short := self._shared.exceeded_limit(least):
            raise ConfigError(f"the budget does not cover one call: {short}; lower max_tokens or give more")

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the backend's answer. Raises PermanentError ("budget") when the budget is spent."""
        claim = self._claim(request)
        if not await self._shared.reserve(claim):
            limit = self._shared.exceeded_limit(claim)
            self._shared.tell_spent(limit)
            raise PermanentError("budget", f"the budget is spent: {limit}", fatal=True)
        spent = claim
        try:
            completion = await self._backend.complete(request)
            spent = self._real_cost(claim, completion.usage)
        except BackendError as error:
            spent = self._cost_of_failure(error, claim)
            raise
        finally:
            self._shared.charge(claim, spent)
        return completion

    @property
    def spent(self) -> Mapping[str, float]:
        """Return the calls, tokens and dollars spent so far, without the calls in flight."""
        return self._shared.spent

    def _claim(self, request: JudgeRequest) -> _Amount:
        reply = _REPLY_TOKENS if request.max_tokens is None else request.max_tokens
        return self._amount(Usage(round(question_bytes(request) / _BYTES_A_TOKEN), reply))

    def _amount(self, usage: Usage) -> _Amount:
        dollars = self._pricing(usage) if self._pricing is not None else None
        return _Amount(1, usage.input_tokens + usage.output_tokens, dollars or 0.0)

    def _cost_of_failure(self, error: BackendError, claim: _Amount) -> _Amount:
        """Return the assumed cost of a call that brought no answer."""
        if error.usage is not None and error.usage.is_nonzero:
            return self._real_cost(claim, error.usage)
        if error.kind in COSTS_NOTHING:
            return _Amount()
        # Servers do not bill their own failures. They may bill an answer that came too late or could not be used.
        return _Amount(1) if error.kind == "server" or error.usage is not None else replace(claim)

    def _real_cost(self, claim: _Amount, usage: Usage) -> _Amount:
        """Return the cost that the server reports, with the reserved amount for any part that is not reported."""
        tokens = usage.input_tokens + usage.output_tokens
        return _Amount(1, tokens or claim.tokens, claim.usd if usage.cost_usd is None else usage.cost_usd)


def _limit_text(name: str, *, limit: float, spent: float, asked: float) -> str:
    if name == "calls":
        return f"{spent:,.0f} of {limit:,.0f} calls are made"
    if name == "usd":
        return f"${spent:,.4f} of ${limit:,.4f} is spent, and one more call may cost ${asked:,.4f}"
    return f"{spent:,.0f} of {limit:,.0f} tokens are used, and one more call may take {asked:,.0f}"
