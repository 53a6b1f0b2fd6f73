"""Reads the log-probabilities of a chat completion: the alternatives at each position where the reply has a digit.

Servers list tokens with their alternatives under ``logprobs.content``, including reasoning and code fences. llama.cpp
writes ``prob`` and ``top_probs`` if the request asked for probabilities after sampling. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from calipers.types import Logprobs
from calipers.types.encoding import finite_number

_DECIMALS = 4
"""The decimals of a stored log-probability. Servers' values are not more exact."""


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
    if begins < 0 or not wanted:
        return None
    digits, at = [], -begins
    for row, piece in zip(rows, pieces, strict=True):
        if 0 <= at < len(wanted) and _has_digit(piece) and (alternatives := _digit_alternatives(row)):
            digits.append((len(wanted[:at].decode("utf-8", "replace")), tuple(alternatives.items())))
        at += len(piece)
    return tuple(digits)


def _digit_alternatives(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the log-probabilities of a row's own token and its alternatives, except tokens without a digit."""
    alternatives = row.get("top_logprobs") or row.get("top_probs")
    chances = {}
    for alternative in (row, *(alternatives if isinstance(alternatives, list) else ())):
        if (
            isinstance(alternative, dict)
            and _has_digit(token := _bytes(alternative))
            and (chance := _log_probability(alternative)) is not None
        ):
            chances[token.decode("utf-8", "replace")] = chance
    return chances


def _log_probability(row: Mapping[str, Any]) -> float | None:
    """Return the row's log-probability, or None if it is missing, not a number, or practically minus infinity."""
    log, chance = finite_number(row.get("logprob")), finite_number(row.get("prob"))
    if chance is not None and 0 < chance <= 1:
        log = math.log(chance)
    return round(min(log, 0.0), _DECIMALS) if log is not None and -100 < log < 1e-3 else None


def _bytes(row: Mapping[str, Any]) -> bytes:
    """Return a token's bytes, as the server lists them. The token's text is used only if there are no bytes, because
    text cannot hold a part of a character.
    """
    listed = row.get("bytes")
    if isinstance(listed, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in listed):
        return bytes(listed)
    token = row.get("token")
    return token.encode("utf-8", "replace") if isinstance(token, str) else b""


def _has_digit(token: bytes) -> bool:
    return any(48 <= byte < 58 for byte in token)
