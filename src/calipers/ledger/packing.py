"""Compresses the long texts of a ledger, and rejects decompression bombs, because a ledger may come from anybody."""

from __future__ import annotations

import zlib

from calipers.types.encoding import require_small_when_decoded

_LONG = 2**14
"""Shorter texts are not compressed, because that would take longer than everything else about them."""
_LEAST_UNPACKED, _MOST_TIMES = 2**24, 100
"""The most bytes that a text may expand to, or the most times its compressed size: ten times what real text needs."""


def packed(text: str) -> str | bytes:
    """Return ``text``, compressed if it is long, unless it shrinks so much that ``decompress_text`` would reject it."""
    if len(text) < _LONG:
        return text
    data = text.encode()
    compressed = zlib.compress(data, 1)
    return compressed if len(data) <= _most(compressed) else text


def unpacked(stored: str | bytes) -> str | bytes:
    """Return the text that ``compress_text`` stored. Raises ValueError if it expands too much or is cut off."""
    if isinstance(stored, str):
        return stored
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(stored, _most(stored))
    if not unpacking.eof:
        raise ValueError(f"{len(stored):,} bytes unpack to more than {_most(stored):,}, or not to their end")
    require_small_when_decoded(data)
    return data


def _most(compressed: bytes) -> int:
    return max(_LEAST_UNPACKED, _MOST_TIMES * len(compressed))
