"""Removes keys from a server's replies: the usual spellings of the secrets in the request headers.

Servers, proxies and gateways echo what they receive: in errors, in ``Location``, as the name of a model. A key removed
here cannot reach a result, ledger, log or terminal. Pure.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

_NO_SECRETS: Final = frozenset({"content-type", "user-agent", "anthropic-version"})
_CREDENTIALS: Final = re.compile(r"auth|key|token|secret|cookie|password|credential|session|signature", re.IGNORECASE)
_OPAQUE: Final = 16
"""A header's value of this length or more is taken for a secret, whatever the header's name. A shorter value
(``x-team: blue``) is not, because judges write the word blue, too.
"""
_SHORTEST: Final = 8
"""A shorter value is never taken for a key: it would be removed from inside words that judges write."""
_PLACEHOLDER: Final = re.compile(
    r"(?:sk-)?no[-_]key[-_](?:needed|required)|not?[-_]?(?:needed|required)|(?:your-)?api[-_]key|lm[-_]studio|anything|"
    r"bearer|changeme|default|localhost|password|placeholder|required|something|undefined|withheld"
)
"""What users set as the key of a server that needs none. These words stay in replies."""
_JSON_ESCAPE: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\u00([2-7][0-9a-fA-F])")
"""JSON may escape any character like this. An even number of backslashes before it is part of the text."""
INSTEAD: Final = "[key]"


def secrets_in(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return every spelling of the secrets in a request's ``headers``, longest first so that no part of a secret
    remains.
    """
    parts: set[str] = set()
    for name, value in headers.items():
        is_opaque = len(value) >= _OPAQUE and " " not in value
        if name.lower() not in _NO_SECRETS and (is_opaque or _CREDENTIALS.search(name)):
            parts |= {value, value.partition(" ")[2], value.rpartition(" ")[2], *_basic_credentials(value)}
    return secret_spellings(parts)


def secret_spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the ``secrets`` of a request as they are, quoted for a URL, and with slashes escaped for JSON, longest
    first.
    """
    forms: set[str] = set()
    for secret in secrets:
        if len(secret) >= _SHORTEST and not _PLACEHOLDER.fullmatch(secret.lower()):
            forms |= {secret, quote(secret, safe=""), secret.replace("/", "\\/")}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def without_secrets(data: bytes, secrets: Sequence[bytes]) -> bytes:
    """Return the bytes of a server's reply without the ``secrets``, plain or in JSON escapes.

    If the reply holds none, the same object is returned.
    """
    if secrets and b"\\u00" in data:
        plain = _JSON_ESCAPE.sub(_unescaped, data)
        data = plain if any(secret in plain for secret in secrets) else data
    for secret in secrets:
        if secret in data:
            data = data.replace(secret, INSTEAD.encode())
    return data


def text_without_secrets(text: str, secrets: Sequence[str]) -> str:
    """Return ``text`` of a server's reply without the ``secrets``, after the text was joined from several pieces."""
    for secret in secrets:
        text = text.replace(secret, INSTEAD)
    return text


def _unescaped(found: re.Match[bytes]) -> bytes:
    """Return the character that a JSON escape stands for, if it is printable and needs no escape."""
    sign = bytes([int(found[2], 16)])
    return found[0] if sign in b'"\\\x7f' else found[1] + sign


def _basic_credentials(value: str) -> list[str]:
    """Return ``user:password`` of a ``Basic`` header, and the password alone."""
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = b64decode(encoded).decode()
    except (binascii.Error, UnicodeDecodeError):
        return []
    return [pair, pair.partition(":")[2]]
