"""Compresses the long texts of a ledger, and rejects decompression bombs: a ledger file may come from anybody."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Sequence
from typing import Final

from calipers.types.encoding import require_small_when_decoded
from calipers.types.steps import Steps, run_steps

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_LONG: Final = 2**14
"""Shorter texts are not compressed, because compressing them would take longer than storing them."""
_LEVEL: Final = 1
"""Zstandard's fastest level except the negative levels, whose results are a fifth larger."""
_LEAST_UNPACKED, _MOST_TIMES = 2**24, 100
"""The most bytes that a text may expand to, or, if that is more, the most times its compressed size. Real text needs a
tenth.
"""
_LARGEST_WINDOW: Final = {int(zstd.DecompressionParameter.window_log_max): 24}
"""The memory that compressed data may request, as a power of two. Level 1 needs 2 ** 19 bytes."""
_FRAME: Final = b"\x28\xb5\x2f\xfd"
"""The first bytes of Zstandard's data. Versions before 0.2 used zlib, whose data never begins like that."""
Damaged: Final = (ValueError, zstd.ZstdError, zlib.error)
"""The errors that ``decompress_text`` raises."""


def compress_text(text: str) -> str | bytes:
    """Return a ledger's ``text``, compressed if it is long.

    A text that shrinks so much that ``decompress_text`` would reject it is not compressed.
    """
    return run_steps(compress_pieces([text]))


def compress_pieces(pieces: Sequence[str]) -> Steps[str | bytes]:
    """Return the text that consists of ``pieces`` as ``compress_text`` stores it in the ledger; one piece a step."""
    if sum(map(len, pieces)) < _LONG:
        return "".join(pieces)
    compressor = zstd.ZstdCompressor(_LEVEL)
    size = 0
    found = []
    for number, piece in enumerate(pieces, start=1):
        data = piece.encode()
        size += len(data)
        found.append(
            compressor.compress(data, compressor.FLUSH_FRAME if number == len(pieces) else compressor.CONTINUE)
        )
        yield
    compressed = b"".join(found)
    return compressed if size <= _most(compressed) else "".join(pieces)


def decompress_text(stored: str | bytes) -> str | bytes:
    """Return the text that ``compress_text`` stored in the ledger, or that versions before 0.2 stored.

    Raises one of ``Damaged`` for data that is cut off, is not compressed, or expands to more than any real text.
    """
    if isinstance(stored, str):
        return stored
    is_zstd = stored.startswith(_FRAME)
    unpacking = zstd.ZstdDecompressor(options=_LARGEST_WINDOW) if is_zstd else zlib.decompressobj()
    data = unpacking.decompress(stored, _most(stored))
    if not unpacking.eof:
        raise ValueError(f"{len(stored):,} bytes unpack to more than {_most(stored):,}, or not to their end")
    require_small_when_decoded(data)
    return data


def _most(compressed: bytes) -> int:
    return max(_LEAST_UNPACKED, _MOST_TIMES * len(compressed))
