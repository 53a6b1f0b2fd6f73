"""Fast JSON for what is sent or recorded, text that is safe for files and terminals, and tables shipped as TOML.

Not for data that is hashed, whose bytes must never change.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, Literal

import orjson

_AS_JSON_DOES: Final = (
    orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
)
"""Options of orjson that make it refuse the types that Python's own encoder refuses."""


LARGEST: Final = 1e100
"""The largest number that is measured or computed with: sums of squares of much larger ones overflow."""


class EncodedDict(dict[str, Any]):
    """A JSON object that never changes, with its encoded ``text``: compact ASCII, exactly as the standard encoder
    writes it.

    Encoding a question's JSON schema takes as long as hashing the whole question; joining encoded pieces takes almost
    no time. ``text=None`` encodes the object.
    """

    __slots__ = ("text",)

    def __init__(self, value: Mapping[str, Any] | Iterable[tuple[str, Any]], text: str | None = None) -> None:
        super().__init__(value)
        self.text = json.dumps(self, separators=(",", ":")) if text is None else text


def to_json(value: object, *, lone: Literal["strict", "replace", "backslashreplace"] = "strict") -> bytes:
    """Encode data such as a group or a result as compact JSON in UTF-8; the text of an ``EncodedDict`` is copied.

    Callers must not pass NaN or infinity: readers turn them into None, and parameters that hold them are refused.
    ``lone`` says what happens to half a surrogate pair, which UTF-8 cannot encode; "backslashreplace" escapes it as
    JSON does. Raises ValueError or TypeError for values that JSON cannot express.
    """
    try:
        return orjson.dumps(value, _encode_other, _AS_JSON_DOES)
    except TypeError:  # an integer of over 64 bits, a key that is not a string, or half a surrogate pair
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain_value).encode("utf-8", lone)


_MAX_DECODED_SIZE: Final = 2**27
"""The most bytes of memory that the values of a JSON text may take, by estimate."""
_MAX_STRINGS: Final = 2**20
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A JSON string; the last one in a text may lack its closing quote."""


def require_small_when_decoded(data: bytes) -> None:
    """Raise ValueError if data such as groups (JSON) would take far more memory decoded than as text.

    The cause is a large number of tiny values. The contents of strings do not count, however long they are.
    """
    if len(data) * 100 <= _MAX_DECODED_SIZE:
        return
    strings = (data.count(b'"') - data.count(b'\\"')) // 2
    if strings > _MAX_STRINGS or (
        _decoded_size(data) > _MAX_DECODED_SIZE and _decoded_size(_STRING.sub(b'""', data)) > _MAX_DECODED_SIZE
    ):
        raise ValueError("the JSON holds too many values")


def _decoded_size(data: bytes) -> int:
    """Estimate from braces, brackets and commas how many bytes of memory the decoded JSON would take."""
    return 200 * data.count(b"{") + 64 * data.count(b"[") + 40 * data.count(b",")


def to_json_text(value: object) -> str:
    """Encode plain data as compact JSON text; strings that UTF-8 cannot encode are escaped."""
    return to_json(value, lone="backslashreplace").decode()


def finite_number(value: object) -> float | None:
    """Return ``value``, of any type, as a float if it is a finite number that fits; None otherwise."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        return None
    return float(value)


def measured_number(value: object) -> float | None:
    """Return ``value``, of any type, as a float if it is a number of at most ``LARGEST`` in size; None otherwise."""
    number = finite_number(value)
    return number if number is not None and abs(number) <= LARGEST else None


def objects_in(value: object) -> list[dict[str, Any]]:
    """Return the JSON objects in a list of decoded data, such as a reply or a result; none if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list | tuple) else []


def without_lone_surrogates(text: str) -> str:
    """Replace each half of a surrogate pair in data such as a group or an answer by "?".

    JSON can express it, but files and databases refuse it.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters except tab and line feed, Unicode line separators, and marks that change writing direction."""


def printable(text: str) -> str:
    """Return ``text``, data such as an answer, with characters that control a terminal as visible escapes."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _encode_other(value: Any) -> Any:
    return orjson.Fragment(value.text) if isinstance(value, EncodedDict) else _plain_value(value)


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, list | tuple):
        return [*value]
    # Subclasses, such as an IntEnum or a numpy float, become plain values.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def counted(number: float, noun: str, plural: str = "") -> str:
    """Return a number with its noun, for people; ``plural`` is for nouns that take more than an s."""
    return f"{number:,.0f} {noun if number == 1 else plural or f'{noun}s'}"


_ENDS = (".", "!", "?", ":")


def as_sentence(text: str) -> str:
    """Return ``text`` with a full stop, unless a sentence ends there already."""
    return text if not text or text.endswith(_ENDS) else f"{text}."


def with_remark(text: str, remark: str) -> str:
    """Return ``text`` with ``(remark)`` before its full stop, if it has one, and after everything else."""
    return f"{text[:-1]} ({remark})." if text.endswith(".") else f"{text} ({remark})"


@cache
def read_packaged_toml(package: str, name: str) -> dict[str, Any]:
    """Return the TOML file ``name`` in the folder of ``package`` as data, which callers must not change."""
    import tomllib  # noqa: PLC0415 - not every run needs a table
    from importlib.resources import files  # noqa: PLC0415 - likewise

    return tomllib.loads(files(package).joinpath(name).read_text("utf-8"))
