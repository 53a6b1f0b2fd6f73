"""Zstandard from Python's own library, or from its backport before 3.14."""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import CompressionParameter, compress, decompress
else:
    from backports.zstd import CompressionParameter, compress, decompress

__all__ = ["CompressionParameter", "compress", "decompress"]
