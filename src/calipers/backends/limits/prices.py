"""Prices of judge models, from which the cost of an answer follows.

A price is the caller's own or comes from the ``genai-prices`` package, where that is installed. An unknown price stays
unknown (None), which is not 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from calipers.errors import ConfigError
from calipers.types import Usage

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
        match given:
            case Price():
                return given
            case Sequence() if len(given) in {2, 3} and all(map(_is_amount, given)):
                return Price(*given)
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
            return None
        except ValueError:  # the list has no price for this kind of usage
            return None

    return listed


def price_list_hint() -> str:
    """Return how to install the list of the providers' prices, for the end of an error message, or "" if the list is
    installed.
    """
    return "" if find_spec("genai_prices") else ", or try pip install 'calipers[prices]', which knows many"


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
