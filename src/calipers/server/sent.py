"""What a client of the server sends: requests as JSON, checked so that nothing is changed on the way unseen.

Not responsible for the meaning of messages, which the server checks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from calipers.errors import ConfigError, InputError
from calipers.inputs.plain import MAX_DEPTH, TOO_DEEP, type_in_words
from calipers.types import Trajectory
from calipers.types.encoding import to_json

_ATOMS: Final = frozenset((str, int, bool, type(None)))


def request_json(body: Mapping[str, Any]) -> bytes:
    """Return a request to the server as JSON. Raises InputError for what JSON cannot express."""
    try:
        return to_json(body)
    except UnicodeEncodeError as error:
        raise InputError(
            "the request holds half a surrogate pair, which UTF-8 cannot express; replace it, for example with "
            'text.encode("utf-8", "replace").decode()'
        ) from error
    except (TypeError, ValueError) as error:
        raise InputError(f"the request cannot be written as JSON: {error}") from error


def listed(name: str, value: object) -> list[Any]:
    """Return ``messages``, ``context`` or ``tools`` of a request to the server as a list of plain data."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{name} must be a list of objects, not {type_in_words(value)}")
    return [plain(one, f"{name}, item {number}") for number, one in enumerate(value, start=1)]


def plain(value: Any, where: str, depth: int = 0) -> Any:
    """Return a part of a request to the server as dicts, lists, text and numbers.

    Raises InputError for an object, for a key that is not text, and for NaN or infinity, which JSON does not have.
    """
    if type(value) in _ATOMS:
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{where} holds {value}, which JSON does not have; leave it out or send None")
        return value
    if depth >= MAX_DEPTH:
        raise InputError(f"{where} {TOO_DEEP}")
    value = _by_its_form(value, where)
    if isinstance(value, dict):
        return {key: plain(one, where, depth + 1) for key, one in value.items()}
    return [plain(one, where, depth + 1) for one in value] if isinstance(value, list) else value


def _by_its_form(value: Any, where: str) -> Any:
    """Return a part of a request as a dict with keys of text, a list, or what JSON can express."""
    if isinstance(value, Trajectory):
        value = value.to_dict()
    if isinstance(value, Mapping):
        if odd := [key for key in value if not isinstance(key, str)]:
            raise InputError(f"{where} has the key {odd[0]!r}; keys must be text")
        return dict(value)
    if isinstance(value, str | int):
        return value
    if callable(getattr(value, "tolist", None)):  # a numpy array or number, without importing numpy
        return plain(value.tolist(), where, 1)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    raise InputError(f"{where} holds an object of type {type(value).__name__}; send dicts, lists, text and numbers")


def checked_url(url: object) -> str:
    """Return the server's address without a slash at its end. Raises ConfigError if it cannot be one."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        usable = usable and not (parts.query or parts.fragment)
    except ValueError:  # a port above 65535, or a bracket that is not closed
        usable = False
    if not isinstance(url, str) or not usable or not url.isprintable() or " " in url:
        shown = without_password(url) if isinstance(url, str) else url
        raise ConfigError(
            f"the server's URL is {shown!r}; write it as http://HOST:PORT or https://HOST, with a port from 1 to 65535"
        )
    return url.rstrip("/")


def without_password(url: str) -> str:
    """Return the server's address as messages and the log may show it."""
    return re.sub("//[^/]*@", "//", url)


def checked_token(token: object) -> str | None:
    """Return the server's token, None if it is empty. Raises ConfigError if a header cannot hold it."""
    if token is None or token == "":
        return None
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            "the server's token must be printable ASCII text without spaces; a line break at its end, as in text that "
            "was read from a file, must be removed"
        )
    return token


def checked_seconds(timeout: object, hold: object) -> tuple[float, int]:
    """Return a client's ``timeout``, and ``hold`` in whole seconds. Raises ConfigError for what they cannot be."""
    for name, value, most in (("timeout", timeout, math.inf), ("hold", hold, 9999)):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value <= most:  # type: ignore[operator]
            bound = "" if most == math.inf else f" and at most {most:g}"
            raise ConfigError(f"{name}={value!r}: it must be a number of seconds above 0{bound}")
    return float(timeout), max(1, round(hold))  # type: ignore[arg-type, call-overload]
