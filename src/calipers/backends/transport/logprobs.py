"""Reads the log-probabilities of a chat completion: the alternatives at each position where the reply has a digit.

Servers list tokens with their alternatives under ``logprobs.content``, including reasoning and code fences. llama.cpp
writes ``prob`` and ``top_probs`` if the request asked for probabilities after sampling. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calipers.types import Logprobs

_DIGITS = 4
"""The number of decimals of a stored log-probability. Servers' values are not more exact."""


_HUGE = 1e9


def logprobs_in(logprobs: object, text: str) -> Logprobs | None:
    """Return the alternative tokens at each digit of the reply ``text``, or None if the server sent none.

    The token that the judge wrote comes first. No error is raised: if the tokens do not spell ``text``, for example
    because the server changed it, the result is None, too.
    """
    rows = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return None
    pieces = [_bytes(row) for row in rows]
    wanted = text.encode("utf-8", "replace")
    begins = b"".join(pieces).rfind(wanted)
    return None if begins < 0 or not wanted else tuple(_alternatives_at_digits(rows, pieces, wanted, -begins))


def _alternatives_at_digits(
    rows: Sequence[Mapping[str, Any]], pieces: Sequence[bytes], text: bytes, at: int
) -> Iterator[tuple[int, tuple[tuple[str, float], ...]]]:
    for row, piece in zip(rows, pieces, strict=True):
        if 0 <= at < len(text) and _has_digit(piece):
            told = dict(_digit_alternatives(row))
            if told:
                yield len(text[:at].decode("utf-8", "replace")), tuple(told.items())
        at += len(piece)


def _digit_alternatives(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield (token, log-probability) for a row's own token and its alternatives, except tokens without a digit."""
    others = row.get("top_logprobs") or row.get("top_probs")
    for one in (row, *(others if isinstance(others, list) else ())):
        if isinstance(one, dict) and _has_digit(token := _bytes(one)) and (chance := _log_probability(one)) is not None:
            yield token.decode("utf-8", "replace"), chance


def _log_probability(row: Mapping[str, Any]) -> float | None:
    """Return the row's log-probability, or None if it is missing, not a number, or practically minus infinity."""
    told, chance = _number(row.get("logprob")), _number(row.get("prob"))
    if chance is not None and 0 < chance <= 1:
        told = math.log(chance)
    return None if told is None or not -100 < told < 1e-3 else round(min(told, 0.0), _DIGITS)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_HUGE < value < _HUGE else None  # JSON has integers larger than any float


def _bytes(row: Mapping[str, Any]) -> bytes:
    """Return a token's bytes, as the server lists them. The token's text is used only if there are no bytes, because
    text cannot hold a part of a character.
    """
    told = row.get("bytes")
    if isinstance(told, list) and all(isinstance(one, int) and 0 <= one < 256 for one in told):
        return bytes(told)
    token = row.get("token")
    return token.encode("utf-8", "replace") if isinstance(token, str) else b""


def _has_digit(token: bytes) -> bool:
    return any(48 <= one < 58 for one in token)
