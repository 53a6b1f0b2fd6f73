"""Bearer tokens: who sends a request to the server, and with which ledger and budget.

Tokens are read from a file or from the environment, and only their digests are held. Not responsible for what a tenant
may do: every tenant may use every route.
"""

from __future__ import annotations

import binascii
import hmac
import os
import re
import tomllib
from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from calipers.backends.limits.budget import Budget
from calipers.errors import ConfigError

VARIABLE: Final = "CALIPERS_SERVER_TOKEN"
"""The environment variable with the token of a server that has a single tenant."""
_SHORTEST: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEYS: Final = frozenset({"token", "token-env", "sha256", "budget", "ledger"})


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """A tenant of the server. ``digest`` is the SHA-256 of its token; None for a server without tokens.

    ``ledger`` and ``budget`` (as in ``{"usd": 5}``) are None where the server's own apply.
    """

    name: str
    digest: bytes | None
    ledger: str | None = None
    budget: Mapping[str, float] | None = None


def tenants_from(path: Path | None, environ: Mapping[str, str] = os.environ) -> tuple[TenantSettings, ...]:
    """Return the server's tenants: those of the file of tokens, or the one whose token the environment has.

    Without either there is a single tenant, which needs no token. Raises ConfigError, with file and table, for what
    cannot be read.
    """
    if path is not None:
        return _tenants_of(path, environ)
    token = environ.get(VARIABLE)
    if token is None:
        return (TenantSettings("default", None),)
    return (TenantSettings("default", _digest_of(token, where=VARIABLE)),)


def _tenants_of(path: Path, environ: Mapping[str, str]) -> tuple[TenantSettings, ...]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the file of tokens cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: the file of tokens is not valid TOML: {error}") from error
    if not content:
        raise ConfigError(f'{path}: has no tenant; write one as [name] and token-env = "VARIABLE"')
    tenants = tuple(_tenant(path, name, table, environ) for name, table in content.items())
    _require_distinct(path, tenants)
    return tenants


def _tenant(path: Path, name: str, table: Any, environ: Mapping[str, str]) -> TenantSettings:
    where = f"{path}: [{name}]"
    if not isinstance(table, dict):
        raise ConfigError(f'{path}: {name!r} is not a table; write [{name}] and, below it, token-env = "VARIABLE"')
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{where}: a tenant's name has up to 64 letters, digits, - and _")
    if unknown := sorted(table.keys() - _KEYS):
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}. Known: {', '.join(sorted(_KEYS))}.")
    ledger, budget = table.get("ledger"), table.get("budget")
    if not isinstance(ledger, str | None):
        raise ConfigError(f"{where}: ledger must be a text")
    if budget is not None and not isinstance(budget, dict):
        raise ConfigError(f"{where}: budget must be a table such as {{ usd = 5 }}")
    if budget is not None:
        _require_budget(budget, where)
    return TenantSettings(name, _digest_in(table, where, environ), ledger, budget)


def _require_budget(budget: Mapping[str, Any], where: str) -> None:
    try:
        Budget.of(budget)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}; write it as budget = {{ usd = 5 }}") from None


def _digest_in(table: Mapping[str, Any], where: str, environ: Mapping[str, str]) -> bytes:
    given = [key for key in ("token", "token-env", "sha256") if key in table]
    if len(given) != 1:
        raise ConfigError(f"{where}: must have one of token-env, sha256 and token")
    value = table[given[0]]
    if not isinstance(value, str):
        raise ConfigError(f"{where}: {given[0]} must be a text")
    if given[0] == "sha256":
        try:
            digest = binascii.unhexlify(value)
        except ValueError:
            digest = b""
        if len(digest) != sha256().digest_size:
            raise ConfigError(f"{where}: sha256 must be 64 hexadecimal digits, as `sha256sum` prints them")
        return digest
    if given[0] == "token-env":
        if value not in environ:
            raise ConfigError(f"{where}: the environment has no variable {value}")
        return _digest_of(environ[value], where=f"{where}: {value}")
    return _digest_of(value, where=where)


def _digest_of(token: str, *, where: str) -> bytes:
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"{where}: a token has at least {_SHORTEST} printable ASCII characters and no space; "
            "`python -c 'import secrets; print(secrets.token_urlsafe())'` makes one"
        )
    return sha256(token.encode()).digest()


def _require_distinct(path: Path, tenants: Iterable[TenantSettings]) -> None:
    names: dict[bytes | None, str] = {}
    for one in tenants:
        if one.digest in names:
            raise ConfigError(f"{path}: [{names[one.digest]}] and [{one.name}] have the same token")
        names[one.digest] = one.name


def token_of(authorization: bytes | None) -> str | None:
    """Return the token in a request's ``Authorization`` to the server: Bearer, or the password of Basic.

    Engines that can send no header have a URL: ``http://calipers:TOKEN@HOST/`` is sent as Basic.
    """
    scheme, _, value = (authorization or b"").decode("latin-1").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return None
    try:
        user, _, password = b64decode(value, validate=True).decode().partition(":")
    except ValueError:
        return None
    return password or user


def tenant_named(tenants: Iterable[TenantSettings], token: str | None) -> TenantSettings | None:
    """Return the server's tenant with this token, or None. Takes as long for any wrong token."""
    found = None
    seen = sha256((token or "").encode("utf-8", "surrogatepass")).digest()
    for one in tenants:  # never stops early, so that the time tells nothing
        if one.digest is None or hmac.compare_digest(one.digest, seen):
            found = one
    return found
