"""Who may send requests: tenants with their tokens, from a file or the environment, and the ledger of each."""

from __future__ import annotations

import hmac
import os
import re
import tomllib
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from calipers.backends.limits.budget import Budget
from calipers.errors import ConfigError, LedgerError
from calipers.ledger.opening import is_postgres, ledger_name
from calipers.ledger.sqlite import FileReader, ledger_path, require_regular

VARIABLE: Final = "CALIPERS_SERVER_TOKEN"
"""The environment variable with the token of a server that has a single tenant."""
_SHORTEST: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class _Table(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """A tenant's table in the file of tokens."""

    token: str | None = None
    token_env: str | None = None
    ledger: str | None = None
    budget: dict[str, float] | None = None


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
    if path is None:
        token = environ.get(VARIABLE)
        return (TenantSettings("default", None if token is None else _digest_of(token, VARIABLE)),)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the file of tokens cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: the file of tokens is not valid TOML: {error}") from error
    if not content:
        raise ConfigError(f'{path}: has no tenant; write one as [name] and token-env = "VARIABLE"')
    names: dict[bytes | None, str] = {}
    tenants = []
    for name, table in content.items():
        one = _tenant(path, name, table, environ)
        if one.digest in names:
            raise ConfigError(f"{path}: [{names[one.digest]}] and [{one.name}] have the same token")
        names[one.digest] = one.name
        tenants.append(one)
    return tuple(tenants)


def _tenant(path: Path, name: str, given: Any, environ: Mapping[str, str]) -> TenantSettings:
    where = f"{path}: [{name}]"
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{where}: a tenant's name has up to 64 letters, digits, - and _")
    try:
        table = msgspec.convert(given, _Table)
        if table.budget is not None:
            Budget.of(table.budget)
    except (msgspec.ValidationError, ConfigError) as error:
        raise ConfigError(
            f'{where}: {error}; write token-env = "VARIABLE" and perhaps budget = {{ usd = 5 }} and ledger = "FILE"'
        ) from None
    if (table.token is None) == (table.token_env is None):
        raise ConfigError(f"{where}: must have one of token-env and token")
    token = table.token if table.token_env is None else environ.get(table.token_env)
    if token is None:
        raise ConfigError(f"{where}: the environment has no variable {table.token_env}")
    return TenantSettings(name, _digest_of(token, where), table.ledger, table.budget)


def _digest_of(token: str, where: str) -> bytes:
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"{where}: a token has at least {_SHORTEST} printable ASCII characters and no space; "
            "`python -c 'import secrets; print(secrets.token_urlsafe())'` makes one"
        )
    return sha256(token.encode()).digest()


def token_of(authorization: bytes | None) -> str | None:
    """Return the token in a request's ``Authorization``: Bearer, or the password of Basic.

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
    """Return the tenant with this token, or None. Takes as long for any wrong token."""
    found = None
    seen = sha256((token or "").encode("utf-8", "surrogatepass")).digest()
    for one in tenants:  # never stops early, so that the time tells nothing
        if one.digest is None or hmac.compare_digest(one.digest, seen):
            found = one
    return found


def ledgers_of(tenants: Sequence[TenantSettings], default: str | None) -> dict[str, str | None]:
    """Return the ledger of each tenant. Raises ConfigError for two tenants with the same one."""
    found: dict[str, str | None] = {}
    places: set[str] = set()
    for one in tenants:
        location = one.ledger or default
        if one.ledger is None and default is not None and len(tenants) > 1:
            if is_postgres(default):
                raise ConfigError(f"[{one.name}] has no ledger: with several tenants, name a database for each of them")
            path = ledger_path(default)
            location = str(path.with_name(f"{one.name}.{path.name}"))
        if location is not None:
            place = ledger_name(location) if is_postgres(location) else os.path.realpath(ledger_path(location))
            if place in places:
                shown = ledger_name(location)
                raise ConfigError(f"two tenants have the ledger {shown}; give each its own, because it is all they see")
            places.add(place)
        found[one.name] = location
    return found


@contextmanager
def only_server_of(ledgers: Iterable[str | None]) -> Iterator[None]:
    """Be the only server of these ledgers while the block runs; a killed server holds nothing. Postgres is shared.

    Raises LedgerError if another server has one of them. A file beside the ledger is locked, where the system can.
    """
    with ExitStack() as held:
        for one in ledgers:
            if one is None or is_postgres(one):
                continue
            path = ledger_path(one)
            if require_regular(path if path.name else Path()) is not None:
                FileReader(path).close()  # what cannot be opened gets no file beside it
            try:
                file = held.enter_context(path.with_name(f"{path.name}.server").open("ab"))
            except OSError as error:
                raise LedgerError(f"{path}: the ledger cannot be opened: {error.strerror}") from error
            try:
                import fcntl  # noqa: PLC0415 - not on Windows
            except ImportError:
                continue
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise LedgerError(
                    f"{path}: another server has this ledger. Several servers need a ledger in Postgres: "
                    "--ledger postgresql://..."
                ) from error
        yield
