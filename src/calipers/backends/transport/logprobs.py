"""A chat completion's log-probabilities to the ones that matter: what might have stood where the reply has a digit.

Servers put tokens with their alternatives under ``logprobs.content``, thoughts and the marks of a fence included;
llama.cpp writes ``prob`` and ``top_probs`` where it was asked for probabilities after sampling. Pure. Not responsible
for which digit is whose score (``protocols.expected``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calipers.types import Logprobs

_DIGITS = 4
"""Decimals of a log-probability that are kept: a ten-thousandth of a probability is more than these are good for."""


_HUGE = 1e9


def logprobs_in(logprobs: object, text: str) -> Logprobs | None:
    """The alternatives wherever ``text`` has a digit, the one that was written first; None where nothing was told.

    Total: tokens that do not spell ``text`` (a server that changed it, say) are told nothing of, too.
    """
    rows = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return None
    pieces = [_bytes(row) for row in rows]
    wanted = text.encode("utf-8", "replace")
    begins = b"".join(pieces).rfind(wanted)
    return None if begins < 0 or not wanted else tuple(_placed(rows, pieces, wanted, -begins))


def _placed(
    rows: Sequence[Mapping[str, Any]], pieces: Sequence[bytes], text: bytes, at: int
) -> Iterator[tuple[int, tuple[tuple[str, float], ...]]]:
    for row, piece in zip(rows, pieces, strict=True):
        if 0 <= at < len(text) and _has_digit(piece):
            told = dict(_told(row))
            if told:
                yield len(text[:at].decode("utf-8", "replace")), tuple(told.items())
        at += len(piece)


def _told(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """(token, log-probability) of a row's own token and of its alternatives, without those that hold no digit."""
    others = row.get("top_logprobs") or row.get("top_probs")
    for one in (row, *(others if isinstance(others, list) else ())):
        if isinstance(one, dict) and _has_digit(token := _bytes(one)) and (chance := _chance(one)) is not None:
            yield token.decode("utf-8", "replace"), chance


def _chance(row: Mapping[str, Any]) -> float | None:
    """The log-probability; None for what is none, and for what cannot happen."""
    told, chance = _number(row.get("logprob")), _number(row.get("prob"))
    if chance is not None and 0 < chance <= 1:
        told = math.log(chance)
    return None if told is None or not -100 < told < 1e-3 else round(min(told, 0.0), _DIGITS)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_HUGE < value < _HUGE else None  # JSON has integers beyond all floats


def _bytes(row: Mapping[str, Any]) -> bytes:
    """A token's bytes: its text has them only where they are whole characters."""
    told = row.get("bytes")
    if isinstance(told, list) and all(isinstance(one, int) and 0 <= one < 256 for one in told):
        return bytes(told)
    token = row.get("token")
    return token.encode("utf-8", "replace") if isinstance(token, str) else b""


def _has_digit(token: bytes) -> bool:
    return any(48 <= one < 58 for one in token)
