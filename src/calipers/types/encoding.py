"""JSON written fast, for what is sent or recorded. Not for what is hashed: those bytes must never change.

Not responsible for reading judges' JSON (``extract``).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import orjson

_AS_JSON_DOES: Final = (
    orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
)
"""Makes orjson refuse what Python's own encoder refuses."""


class EncodedDict(dict[str, Any]):
    """A JSON object that never changes, and its encoded ``text``: compact ASCII, exactly as an encoder writes it.

    Encoding a question's schema takes as long as hashing the whole question. ``text`` put together from ready pieces
    takes almost no time; None encodes the object.
    """

    __slots__ = ("text",)

    def __init__(self, value: Mapping[str, Any] | Iterable[tuple[str, Any]], text: str | None = None) -> None:
        super().__init__(value)
        self.text = json.dumps(self, separators=(",", ":")) if text is None else text


def to_json(value: object, *, lone: Literal["strict", "replace"] = "strict") -> bytes:
    """``value`` as compact JSON in UTF-8; an ``EncodedDict`` is copied without encoding it again.

    Callers must not pass NaN or infinity: readers turn them into None, and parameters that hold them are refused.
    ``lone`` says what happens to half a surrogate pair, which UTF-8 cannot encode. Raises ValueError or TypeError for
    values without a JSON form.
    """
    try:
        return orjson.dumps(value, _other, _AS_JSON_DOES)
    except TypeError:  # an integer of over 64 bits, a key that is no text, half a surrogate pair
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain).encode("utf-8", lone)


_MAX_WEIGHT: Final = 2**27
"""Estimated bytes of memory for the values of a JSON text."""
_MAX_STRINGS: Final = 2**20
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A string, terminated or not."""


def require_light(data: bytes) -> None:
    """Raise ValueError for JSON that would take far more memory than it has bytes: millions of tiny objects or numbers.

    The contents of strings do not count, however long they are.
    """
    if len(data) * 100 <= _MAX_WEIGHT:
        return
    strings = (data.count(b'"') - data.count(b'\\"')) // 2
    if strings > _MAX_STRINGS or (_weight(data) > _MAX_WEIGHT and _weight(_STRING.sub(b'""', data)) > _MAX_WEIGHT):
        raise ValueError("the JSON holds too many values")


def _weight(data: bytes) -> int:
    """An estimate of the memory in bytes that the values in ``data`` take, from its braces, brackets and commas."""
    return 200 * data.count(b"{") + 64 * data.count(b"[") + 40 * data.count(b",")


def json_text(value: object) -> str:
    """``value`` as compact JSON for the ledger, whatever its strings hold."""
    try:
        return to_json(value).decode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), default=_plain)


def finite_number(value: object) -> float | None:
    """``value`` as a float, or None for anything but a finite number that fits into a float."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        return None
    return float(value)


def encodable(text: str) -> str:
    """``text`` with a question mark for half a surrogate pair, which JSON can spell and no file or database accepts."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters except tab and line feed, Unicode's line separators, and what changes the writing direction."""


def printable(text: str) -> str:
    """``text`` as a terminal may show it: characters that control the terminal are visible escapes."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _other(value: Any) -> Any:
    return orjson.Fragment(value.text) if isinstance(value, EncodedDict) else _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, list | tuple):
        return [*value]
    # Subclasses, such as an IntEnum or a numpy float.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
