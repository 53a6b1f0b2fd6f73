"""Values made plain JSON, with binary data replaced by a short placeholder that names type, size and hash.

Not responsible for images that a judge can be shown: those stay images.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Shorter runs are names, hashes and keys, which are evidence and cost little.
_SHORTEST = 256
_BASE64 = re.compile(rf"[A-Za-z0-9+/_-]{{{_SHORTEST},}}={{0,2}}")
_DATA_URL = re.compile(rf"data:([\w.+/-]{{1,80}});base64,[A-Za-z0-9+/_-]{{{_SHORTEST},}}={{0,2}}")
# Deeper nesting than this is nobody's evidence, and would exhaust the stack.
_DEEPEST = 32


def plain(value: Any, elided: list[str], *, depth: int = 0) -> Any:
    """``value`` as JSON data that survives a round trip; what was replaced is told in ``elided``, a line each.

    Keys become text, sequences lists, numbers that JSON has no way to write their text; unknown objects their ``str``.
    """
    match value:
        case None | bool() | int():
            shown: Any = value
        case float():
            shown = value if math.isfinite(value) else str(value)
        case str():
            shown = _without_base64(value, elided)
        case bytes() | bytearray():
            shown = _placeholder("bytes", bytes(value), elided)
        case Mapping() | Sequence() if depth >= _DEEPEST:
            elided.append(f"values nested deeper than {_DEEPEST} left out")
            shown = "[nested too deeply]"
        case Mapping():
            shown = {str(key): plain(item, elided, depth=depth + 1) for key, item in value.items()}
        case Sequence():
            shown = [plain(item, elided, depth=depth + 1) for item in value]
        case _:
            shown = str(value)
    return shown


def without_data_urls(text: str, elided: list[str]) -> str:
    """``text`` with base64 data URLs inside it replaced by placeholders."""
    if ";base64," not in text:
        return text
    return _DATA_URL.sub(lambda match: _placeholder(match[1], match[0].encode(), elided), text)


def _without_base64(text: str, elided: list[str]) -> str:
    if len(text) < _SHORTEST:
        return text
    if _BASE64.fullmatch(text):
        return _placeholder("base64", text.encode(), elided)
    return without_data_urls(text, elided)


def _placeholder(kind: str, data: bytes, elided: list[str]) -> str:
    shown = f"[{kind}, {len(data)} bytes, blake2b {hashlib.blake2b(data, digest_size=6).hexdigest()}]"
    elided.append(f"binary data shown as {shown}")
    return shown
