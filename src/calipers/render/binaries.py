"""Makes values plain JSON, and replaces binary data with a short placeholder that names its type, size and hash.

Images that a judge can be shown stay images.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Shorter runs of base64 characters are names, hashes and keys: they are evidence and cost few tokens.
_MIN_BASE64 = 256
_BASE64 = re.compile(rf"[A-Za-z0-9+/_-]{{{_MIN_BASE64},}}={{0,2}}")
_DATA_URL = re.compile(rf"data:([\w.+/-]{{1,80}});base64,[A-Za-z0-9+/_-]{{{_MIN_BASE64},}}={{0,2}}")
# Values nested more deeply are no evidence for a judge, and would exhaust the stack.
_MAX_DEPTH = 32


def plain_json(value: Any, elided: list[str], *, depth: int = 0) -> Any:  # noqa: PLR0911 - one return a kind
    """Return a part of a trajectory as JSON data for the transcript. It survives a round trip. ``elided`` gets a line
    for each replacement.

    Keys become strings, sequences become lists, NaN and infinity become text, and unknown objects become their ``str``.
    """
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return _without_base64(value, elided)
        case bytes() | bytearray():
            return _placeholder("bytes", bytes(value), elided)
        case Mapping() | Sequence() if depth >= _MAX_DEPTH:
            elided.append(f"values nested deeper than {_MAX_DEPTH} left out")
            return "[nested too deeply]"
        case Mapping():
            return {str(key): plain_json(item, elided, depth=depth + 1) for key, item in value.items()}
        case Sequence():
            return [plain_json(item, elided, depth=depth + 1) for item in value]
        case _:
            return str(value)


def without_data_urls(text: str, elided: list[str]) -> str:
    """Replace each base64 data URL in text shown to the judge by a placeholder. ``elided`` gets a line for each data
    URL.
    """
    if ";base64," not in text:
        return text
    return _DATA_URL.sub(lambda match: _placeholder(match[1], match[0].encode(), elided), text)


def _without_base64(text: str, elided: list[str]) -> str:
    if len(text) < _MIN_BASE64:
        return text
    if _BASE64.fullmatch(text):
        return _placeholder("base64", text.encode(), elided)
    return without_data_urls(text, elided)


def _placeholder(kind: str, data: bytes, elided: list[str]) -> str:
    shown = f"[{kind}, {len(data)} bytes, blake2b {hashlib.blake2b(data, digest_size=6).hexdigest()}]"
    elided.append(f"binary data shown as {shown}")
    return shown
