"""Keys that a server may show again: every usual spelling of what request headers hold, and their removal from its
answers.

Servers, proxies and gateways echo what they were sent: in errors, in ``Location``, as the name of a model, encoded or
not. What is removed here reaches no result, ledger, log or terminal. Pure. Not responsible for texts that merely look
like keys (``translate.redacted``).
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final
from urllib.parse import quote

_NO_SECRETS: Final = frozenset({"content-type", "user-agent", "anthropic-version"})
_CREDENTIALS: Final = re.compile(r"auth|key|token|secret|cookie|password|credential|session|signature", re.IGNORECASE)
_OPAQUE: Final = 16
"""Any other header's value is taken for a secret from so many characters on: ``x-team: blue`` is none, and judges say
blue.
"""
_SHORTEST: Final = 8
"""A shorter value in a header is no key, and would be removed from the middle of words that judges write."""
_PLACEHOLDERS: Final = frozenset(
    {
        "anything", "api-key", "api_key", "bearer", "changeme", "default", "lm-studio", "lm_studio", "localhost",
        "no-key-needed",
        "no-key-required", "not-needed", "not-required", "not_needed", "notneeded", "password", "placeholder",
        "required",
        "sk-no-key-required", "something", "undefined", "withheld", "your-api-key",
    }
)  # fmt: skip
"""What people write where a server wants no key; as words of a reply they stay."""
_ESCAPED: Final = {ord(sign): f"\\u{ord(sign):04X}" for sign in "+&<>'\""}
"""What JSON writers that think of HTML escape."""
_PERCENT: Final = re.compile("%[0-9A-F]{2}")
_JSON_ESCAPE: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\u00([2-7][0-9a-fA-F])")
"""Any character may be written so. After an odd number of backslashes it is none: the last one is itself escaped."""
INSTEAD: Final = "[key]"


def secrets_in(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Every spelling of what ``headers`` keep secret, longest first so that none is left in part."""
    values = [value for name, value in headers.items() if _is_secret(name, value)]
    parts = {part for value in values for part in (value, value.partition(" ")[2], value.rpartition(" ")[2])}
    parts |= {part for value in values for part in _credentials(value)}
    return spelled(parts)


def _is_secret(name: str, value: str) -> bool:
    if name.lower() in _NO_SECRETS:
        return False
    return _CREDENTIALS.search(name) is not None or (len(value) >= _OPAQUE and " " not in value)


def spelled(secrets: Iterable[str]) -> tuple[str, ...]:
    """``secrets`` and the ways in which programs write them, longest first."""
    known = [secret for secret in secrets if len(secret) >= _SHORTEST and secret.lower() not in _PLACEHOLDERS]
    found = {form for secret in known for form in _spellings(secret)}
    return tuple(sorted(found, key=lambda form: (-len(form), form)))


def scrubbed(data: bytes, secrets: Sequence[bytes]) -> bytes:
    """``data`` without any of the ``secrets``, plain or in JSON's escapes; the very same object where it holds none."""
    if secrets and b"\\u00" in data:
        plain = _JSON_ESCAPE.sub(_unescaped, data)
        data = plain if any(secret in plain for secret in secrets) else data
    for secret in secrets:
        if secret in data:
            data = data.replace(secret, INSTEAD.encode())
    return data


def scrubbed_text(text: str, secrets: Sequence[str]) -> str:
    """``text`` without any of the ``secrets``: a key that came in pieces is whole only where they are put together."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, INSTEAD)
    return text


def _unescaped(found: re.Match[bytes]) -> bytes:
    """An escape of a printable character as that character: the same to whoever reads the JSON."""
    sign = bytes([int(found[2], 16)])
    return found[0] if sign in b'"\\\x7f' else found[1] + sign


def _spellings(secret: str) -> set[str]:
    quoted = quote(secret, safe="")
    forms = {secret, quoted, secret.replace("/", "\\/"), secret.translate(_ESCAPED), escape(secret)}
    forms.add(_PERCENT.sub(lambda found: found[0].lower(), quoted))
    data = secret.encode()
    forms |= {data.hex(), data.hex().upper(), secret[::-1]}
    for before in range(3):
        # Within a longer text, base64 has three ways to write it; the characters at the ends hold something else, too.
        whole = b64encode(b"\0" * before + data).decode().rstrip("=")
        inner = whole[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        forms |= {inner, inner.replace("+", "-").replace("/", "_"), inner.replace("/", "\\/")}
    return forms


def _credentials(value: str) -> list[str]:
    """User and password of a ``Basic`` header, together, and the password alone."""
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = b64decode(encoded).decode()
    except (binascii.Error, UnicodeDecodeError):
        return []
    return [pair, pair.partition(":")[2]]
