"""What a server says a call took, in whichever of the usual words.

A reply that cannot be used may be billed all the same, so its usage is looked for in what came of it, however garbled.
Pure. Not responsible for prices (``prices``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from calipers.errors import BackendError
from calipers.types import Usage

_DIGITS: Final = 12
_ABSURD: Final = 10**_DIGITS
_KEY: Final = b'"usage"'
_LONGEST: Final = 4096
"""Bytes of a usage object; real ones have some hundred."""
_MOST: Final = 64
"""How many places are looked at: a stream that broke off may say null in each of its last events."""


def usage_of(said: object) -> Usage:
    """Tokens and dollars of a usage object: OpenAI's, a router's or a decision endpoint's. Zeros for what is none."""
    return reported(said) or Usage()


def reported(said: object) -> Usage | None:
    """Likewise; None where nothing is said that can be reckoned with.

    A count of which one half is missing or no number is no count, for it would come out too cheap; a total tells the
    other half. Anthropic counts tokens read from its cache and written to it apart; they are input all the same.
    """
    if not isinstance(said, Mapping):
        return None
    details = said.get("prompt_tokens_details") or said.get("input_tokens_details")
    read, written = _count(said, "cache_read_input_tokens") or 0, _count(said, "cache_creation_input_tokens") or 0
    hit = details.get("cached_tokens") if isinstance(details, Mapping) else said.get("prompt_cache_hit_tokens")
    given = _count(said, "prompt_tokens", "input_tokens")
    produced = _count(said, "completion_tokens", "output_tokens")
    total = _count(said, "total_tokens")
    if total is not None:
        given = _rest(total, produced) if given is None else given
        produced = _rest(total, given) if produced is None else produced
    cost = _cost(said.get("cost"))
    if given is None or produced is None:
        return None if cost is None else Usage(cost_usd=cost)
    return Usage(given + read + written, produced, (_number(hit) or 0) + read, cost)


def usage_in(body: bytes | bytearray) -> Usage | None:
    """The last usage object that stands whole in a body which cannot be read otherwise; None where there is none."""
    end = len(body)
    for _ in range(_MOST):
        at = body.rfind(_KEY, 0, end)
        if at < 0:
            return None
        end = at
        after = body[at + len(_KEY) : at + len(_KEY) + _LONGEST].lstrip()
        if after.startswith(b":") and (usage := reported(_object(bytes(after[1:].lstrip())))) is not None:
            return usage
    return None


@contextmanager
def billed(said: object) -> Iterator[None]:
    """Errors that are raised within say what the call took, as ``said``, a reply's usage object, has it."""
    try:
        yield
    except BackendError as error:
        error.usage = reported(said) or error.usage
        raise


def tokens(value: object) -> int | None:
    """A number of tokens, above 0 and one to reckon with, or None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _ABSURD else None


def _count(said: Mapping[str, Any], *names: str) -> int | None:
    """The first of these that is a number of tokens, 0 among them."""
    return next((count for name in names if (count := _number(said.get(name))) is not None), None)


def _number(value: object) -> int | None:
    """A number of tokens, also one that a server writes as 12.0 or "12"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        value = int(value)
    return 0 if value == 0 and not isinstance(value, bool) else tokens(value)


def _rest(total: int, part: int | None) -> int | None:
    return None if part is None or part > total else total - part


def _cost(value: object) -> float | None:
    """Dollars where a router states them; nothing stated is unknown, not free."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < 1e12 else None  # JSON has integers beyond all floats


def _object(text: bytes) -> Mapping[str, Any] | None:
    try:
        found, _ = json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found else None
