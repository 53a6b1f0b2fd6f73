"""Reads the usage that a server reports for a call, under any of the usual names.

A reply that cannot be used may be billed, so its usage is searched for even in a damaged body. Pure.
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
"""The most bytes of a usage object; real ones have a few hundred."""
_MOST: Final = 64
"""How many usage objects are tried. Each of the last events of a broken stream may hold a null as usage."""


def usage_of(said: object) -> Usage:
    """Return the tokens and dollars in a server's usage object of any API, or zeros if it is not a usage object."""
    return reported_usage(said) or Usage()


def reported_usage(said: object) -> Usage | None:
    """Return the tokens and dollars in a server's usage object, or None if it holds no usable count.

    A count without the input or without the output is unusable, because it would be too low. A total supplies the
    missing part. Anthropic counts tokens read from its cache and tokens written to it separately; both are input.
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
    """Return the last complete usage object in a server's reply that cannot be parsed as a whole, or None."""
    end = len(body)
    for _ in range(_MOST):
        at = body.rfind(_KEY, 0, end)
        if at < 0:
            return None
        end = at
        after = body[at + len(_KEY) : at + len(_KEY) + _LONGEST].lstrip()
        if after.startswith(b":") and (usage := reported_usage(_object(bytes(after[1:].lstrip())))) is not None:
            return usage
    return None


@contextmanager
def attach_usage(said: object) -> Iterator[None]:
    """Attach the usage in a server's reply to every BackendError raised in the block. ``said`` is the usage object in
    the reply.
    """
    try:
        yield
    except BackendError as error:
        error.usage = reported_usage(said) or error.usage
        raise


def token_count(value: object) -> int | None:
    """Return ``value`` from a server's usage object if it is a plausible number of tokens above 0, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _ABSURD else None


def _count(said: Mapping[str, Any], *names: str) -> int | None:
    """Return the first field among ``names`` that holds a number of tokens, which may be 0, or None."""
    return next((count for name in names if (count := _number(said.get(name))) is not None), None)


def _number(value: object) -> int | None:
    """Return a number of tokens that the server may write as 12, 12.0 or "12", or None for any other value."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        value = int(value)
    return 0 if value == 0 and not isinstance(value, bool) else token_count(value)


def _rest(total: int, part: int | None) -> int | None:
    return None if part is None or part > total else total - part


def _cost(value: object) -> float | None:
    """Return the dollars that a router states, or None: a cost that is not stated is unknown, not 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < 1e12 else None  # JSON has integers larger than any float


def _object(text: bytes) -> Mapping[str, Any] | None:
    try:
        found, _ = json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found else None
