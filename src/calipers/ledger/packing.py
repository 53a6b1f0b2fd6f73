"""Long texts compressed, and back, safe against decompression bombs: a ledger may come from anybody."""

from __future__ import annotations

import zlib

from calipers.types.encoding import require_light

_LONG = 2**14
"""Characters from which on a text is compressed: compressing shorter ones takes longer than all else about them."""
_LEAST_UNPACKED, _MOST_TIMES = 2**24, 100
"""A packed text may unpack to so many bytes, or to so many times its packed size: ten times what text does."""


def packed(text: str) -> str | bytes:
    """``text``, compressed where it is long, unless it compresses so well that ``unpacked`` would refuse it."""
    if len(text) < _LONG:
        return text
    data = text.encode()
    compressed = zlib.compress(data, 1)
    return compressed if len(data) <= _most(compressed) else text


def unpacked(stored: str | bytes) -> str | bytes:
    """The inverse of ``packed``. Raises ValueError for data that grows more than text does or is cut off."""
    if isinstance(stored, str):
        return stored
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(stored, _most(stored))
    if not unpacking.eof:
        raise ValueError(f"{len(stored):,} bytes unpack to more than {_most(stored):,}, or not to their end")
    require_light(data)
    return data


def _most(compressed: bytes) -> int:
    return max(_LEAST_UNPACKED, _MOST_TIMES * len(compressed))
