"""What judge calls cost, and budgets: prices, calls without an answer, and no more than a budget is spent.

Before a call, the highest possible cost of the call is reserved. After the call, its real cost replaces this amount. So
the calls in flight cannot exceed the budget together. Answers from the ledger cost nothing and never come here. A price
is the caller's own or comes from the ``genai-prices`` package, where that is installed. An unknown price stays unknown
(None), which is not 0.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from calipers.errors import BackendError, ConfigError, PermanentError
from calipers.render import text_bytes_and_images
from calipers.types import NO_FAILED_CALLS, FailedCall, FailedCalls, FailureKind, JudgeRequest, Usage
from calipers.types.encoding import finite_number

_log = logging.getLogger("calipers.calls")

REPLY_TOKENS = 8192
"""The tokens reserved for a reply without a token limit."""
_BYTES_A_TOKEN: Final = 3.0
"""Fewer bytes per token than English text has (about 4), so that the reserved amount is seldom too small."""
_IMAGE_BYTES: Final = 4000
"""The bytes that an image counts as: providers charge hundreds to thousands of tokens, whatever the file's size."""

COSTS_NOTHING: Final[frozenset[FailureKind]] = frozenset(
    {"unreachable", "unauthorized", "not_found", "rate_limited", "bad_request", "context_window", "not_recorded"}
)
"""Kinds of failure that happen before the judge does any work, and so cost nothing."""
NOTHING: Final = Usage(cost_usd=0.0)


def question_bytes(request: JudgeRequest) -> int:
    """Return the UTF-8 bytes of a request to a judge's server. Unlike characters, about as many bytes make a token in
    every script.
    """
    text, images = text_bytes_and_images(request)
    return text + _IMAGE_BYTES * images


# --- prices -----------------------------------------------------------------------------------------------------------

Pricing = Callable[[Usage], float | None]
"""Returns the US dollars for the tokens of a call, or None if the price is unknown."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. ``cached`` is the price of input from the provider's cache, by default that of
    input.
    """

    input: float
    output: float
    cached: float | None = None

    def __call__(self, usage: Usage) -> float:
        """Return the cost in US dollars of a judge call's tokens."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        of_cached = self.input if self.cached is None else self.cached
        dollars = (usage.input_tokens - cached) * self.input + cached * of_cached + usage.output_tokens * self.output
        return dollars / 1e6

    @staticmethod
    def of(given: object) -> Price:
        """Return the Price of a provider's tokens from ``(input, output)`` or ``(input, output, cached)``. Raises
        ConfigError otherwise.
        """
        if isinstance(given, Price):
            return given
        numbers = [finite_number(part) for part in given] if isinstance(given, Sequence) else []
        parts = [number for number in numbers if number is not None and number >= 0]
        if len(parts) == len(numbers) in {2, 3}:
            return Price(*parts)
        raise ConfigError(
            f"price={given!r}: write (input, output) or (input, output, cached), in US dollars per million tokens"
        )


def find_pricing(endpoint: str, model: str, *, price: object = None) -> Pricing | None:
    """Return the pricing of ``model`` at a provider's ``endpoint``: ``price`` if given, else from the installed
    price list, or None if unknown. Nothing is downloaded.
    """
    if price is not None:
        return Price.of(price)
    if not endpoint.startswith(("http://", "https://")) or find_spec("genai_prices") is None:
        return None
    unlisted = False

    def listed(usage: Usage) -> float | None:
        nonlocal unlisted
        if unlisted:
            return None
        prices = import_module("genai_prices")  # imported late: an optional dependency whose import takes 0.1 s
        cached = min(usage.cached_tokens, usage.input_tokens)
        tokens = prices.Usage(
            input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cache_read_tokens=cached
        )
        try:
            return float(prices.calc_price(tokens, model, provider_api_url=endpoint).total_price)
        except LookupError:
            unlisted = True
        except ValueError:  # the list has no price for this kind of usage
            pass
        return None

    return listed


# --- budgets ----------------------------------------------------------------------------------------------------------


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
        if isinstance(given, Mapping) and given and set(given) <= set(known):
            given = Budget(**given)
        if not isinstance(given, Budget):
            raise ConfigError(f"budget={given!r}: it must be a mapping of {', '.join(known)}, as in {{'usd': 5.0}}")
        for name in known:
            amount = getattr(given, name)
            if amount is not None and ((number := finite_number(amount)) is None or number <= 0):
                raise ConfigError(f"budget: {name}={amount!r}: it must be a finite number above 0")
        return given


@dataclass(slots=True)
class Amount:
    """What a call costs, or may cost at most."""

    calls: float = 0
    tokens: float = 0
    usd: float = 0.0

    @staticmethod
    def at_most(request: JudgeRequest, pricing: Pricing | None) -> Amount:
        """Return the highest cost that a call for ``request`` may have."""
        reply = REPLY_TOKENS if request.max_tokens is None else request.max_tokens
        usage = Usage(round(question_bytes(request) / _BYTES_A_TOKEN), reply)
        dollars = None if pricing is None else pricing(usage)
        return Amount(1, usage.input_tokens + usage.output_tokens, dollars or 0.0)

    def after(self, usage: Usage) -> Amount:
        """Return what a call with this reserved amount cost: what the server reports, and the reserved amount for any
        part that it does not report.
        """
        tokens = usage.input_tokens + usage.output_tokens
        return Amount(1, tokens or self.tokens, self.usd if usage.cost_usd is None else usage.cost_usd)

    def after_failure(self, error: BackendError) -> Amount:
        """Return the assumed cost of a call with this reserved amount that brought no answer."""
        if error.usage is not None and error.usage.is_nonzero:
            return self.after(error.usage)
        if error.kind in COSTS_NOTHING:
            return Amount()
        # Servers do not bill their own failures. They may bill an answer that came too late or could not be used.
        return Amount(1) if error.kind == "server" or error.usage is not None else self

    def add(self, other: Amount, *, sign: int = 1) -> None:
        """Add the cost of another judge call, or subtract it."""
        self.calls += sign * other.calls
        self.tokens += sign * other.tokens
        self.usd += sign * other.usd


class Purse:
    """A budget with what is spent and reserved so far. Several judges may spend from it, in any loop or thread."""

    def __init__(self, budget: object) -> None:
        self.budget = Budget.of(budget)
        self.spent = Amount()
        self._held = Amount()
        # Reentrant, because the garbage collector may end a call in a thread that is inside already.
        self._lock = threading.RLock()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._warned = False

    def require_enough(self, model: str, pricing: Pricing | None, max_tokens: int | None) -> None:
        """Raise ConfigError if one reply of ``model`` could exceed the budget, or if its price is not known."""
        if self.budget.usd is not None and (pricing is None or pricing(Usage(1, 1)) is None):
            hint = "" if find_spec("genai_prices") else ", or try pip install 'calipers[prices]', which knows many"
            raise ConfigError(
                f"a budget in dollars needs the price of {model!r}, which is not known: give it with --price IN,OUT in "
                f'dollars per million tokens (in Python calls={{"price": (INPUT, OUTPUT)}}){hint}'
            )
        reply = Usage(0, REPLY_TOKENS if max_tokens is None else max_tokens)
        least = Amount(1, reply.output_tokens, (pricing(reply) if pricing is not None else None) or 0.0)
        if short := self._exceeded(least, Amount()):
            raise ConfigError(f"the budget does not cover one call: {short}")

    async def reserve(self, claim: Amount) -> None:
        """Reserve ``claim``, and wait while calls in flight may release enough of what they reserved.

        Raises PermanentError ("budget") if the budget cannot cover it.
        """
        while True:
            with self._lock:
                short = self._exceeded(claim, self._held)
                if not short:
                    self._held.add(claim)
                    return
                if self._held.calls == 0 or self._exceeded(claim, Amount()):
                    break
                loop = asyncio.get_running_loop()
                turn: asyncio.Future[None] = loop.create_future()
                self._waiting.append((loop, turn))
            await turn
        if not self._warned:
            self._warned = True
            _log.warning("calls beyond the budget are not made: %s", short)
        raise PermanentError("budget", f"the call is beyond the budget: {short}", fatal=True)

    def charge(self, claim: Amount, spent: Amount) -> None:
        """Release the reserved ``claim``, add what the judge's call spent, and wake the calls that wait."""
        with self._lock:
            self._held.add(claim, sign=-1)
            self.spent.add(spent)
            waiting, self._waiting = self._waiting, []
        for loop, turn in waiting:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits there any more
                loop.call_soon_threadsafe(_wake, turn)

    def _exceeded(self, claim: Amount, held: Amount) -> str:
        """Return in words which limit ``claim`` exceeds beside what is ``held``, or an empty text if none."""
        for field in fields(self.budget):
            limit, spent = getattr(self.budget, field.name), getattr(self.spent, field.name)
            asked = getattr(claim, field.name)
            if limit is not None and spent + asked + getattr(held, field.name) > limit * (1 + 1e-9):
                digits, unit = (4, "US dollars") if field.name == "usd" else (0, field.name)
                more = ";" if field.name == "calls" else f", a call may take {asked:,.{digits}f}: lower max_tokens, or"
                return f"{spent:,.{digits}f} of {limit:,.{digits}f} {unit} are spent{more} raise the budget"
        return ""


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


# --- calls without an answer ------------------------------------------------------------------------------------------


class Meter:
    """Collects the failed calls for one request. Set ``add`` as the request's ``on_failed_call``.

    ``add`` passes each failed call on to ``then``.
    """

    __slots__ = ("_then", "calls")

    def __init__(self, then: Callable[[FailedCall], None] | None = None) -> None:
        self.calls: list[FailedCall] = []
        self._then = then

    def add(self, call: FailedCall) -> None:
        """Record a call to the judge's server that failed."""
        self.calls.append(call)
        if self._then is not None:
            self._then(call)

    @property
    def total(self) -> FailedCalls:
        """Return the number and the summed usage of the request's failed calls."""
        return FailedCalls.of(self.calls) if self.calls else NO_FAILED_CALLS


def report_failed_call(request: JudgeRequest, error: BaseException, *, unknown: Usage | None) -> None:
    """Report the call that ended with ``error`` to its ``request``, once even if several backends see the error.

    ``unknown`` is reported as its usage if the server stated none and may have billed it.
    """
    if getattr(error, "counted", False):
        return
    error.counted = True  # type: ignore[attr-defined]  # as a BackendError has
    if request.on_failed_call is None:
        return
    if not isinstance(error, BackendError):
        request.on_failed_call(FailedCall("internal" if isinstance(error, Exception) else "broken_off", unknown))
    elif error.usage is not None:
        request.on_failed_call(FailedCall(error.kind, error.usage if error.usage.is_nonzero else NOTHING))
    else:
        free = error.kind in COSTS_NOTHING or error.kind == "server"
        request.on_failed_call(FailedCall(error.kind, NOTHING if free else unknown))
