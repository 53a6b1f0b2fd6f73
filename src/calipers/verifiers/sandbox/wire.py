"""How the fork server and its client write to one another: a length, then JSON.

Pure. Only the two of them speak it; foreign code has no way to either's end.
"""

from __future__ import annotations

import json
import struct
from typing import Any

_LENGTH = struct.Struct(">I")


def packed(message: Any) -> bytes:
    """One message. Escaped to ASCII, so that half a surrogate pair travels, too."""
    text = json.dumps(message, separators=(",", ":")).encode("ascii")
    return _LENGTH.pack(len(text)) + text


def unpacked(buffer: bytearray) -> Any | None:
    """The first whole message, taken out of ``buffer``; None while it is not all there."""
    if len(buffer) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(buffer)
    end = _LENGTH.size + length
    if len(buffer) < end:
        return None
    message = json.loads(buffer[_LENGTH.size : end])
    del buffer[:end]
    return message
