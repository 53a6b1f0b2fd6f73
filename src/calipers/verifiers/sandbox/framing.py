"""The messages between the fork server and its client: a length, then JSON.

Pure. Foreign code cannot reach either end of this connection.
"""

from __future__ import annotations

import json
import struct
from typing import Any

_LENGTH = struct.Struct(">I")


def pack_message(message: Any) -> bytes:
    """Encode a message between sandbox and client. Escaping it to ASCII keeps half a surrogate pair."""
    text = json.dumps(message, separators=(",", ":")).encode("ascii")
    return _LENGTH.pack(len(text)) + text


def unpack_message(buffer: bytearray) -> Any | None:
    """Remove the sandbox's first complete message from ``buffer`` and return it. None if no message is complete yet."""
    if len(buffer) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(buffer)
    end = _LENGTH.size + length
    if len(buffer) < end:
        return None
    message = json.loads(buffer[_LENGTH.size : end])
    del buffer[:end]
    return message
