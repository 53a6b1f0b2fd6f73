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
from typing import Final

from calipers.errors import ConfigError, LedgerError
from calipers.ledger.opening import is_postgres
from calipers.ledger.sqlite import FileReader, ledger_path, require_regular

VARIABLE: Final = "CALIPERS_SERVER_TOKEN"
"""The environment variable with the token of a server that has a single tenant."""
_SHORTEST: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class TenantToken:
    """A tenant of the server by its name. ``digest`` is the SHA-256 of its token; None for a server without tokens."""

    name: str
    digest: bytes | None


def tenants_from(path: Path | None, environ: Mapping[str, str] = os.environ) -> tuple[TenantToken, ...]:
    """Return the server's tenants: those of the file of tokens, or the one whose token the environment has.

    Without either there is a single tenant, which needs no token. Raises ConfigError, with file and tenant, for what
    cannot be read.
    """
    if path is None:
        token = environ.get(VARIABLE)
        return (TenantToken("default", None if token is None else _digest_of(token, VARIABLE)),)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"--tokens {path}: the file of tokens cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: the file of tokens is not valid TOML: {error}") from error
    if not content:
        raise ConfigError(f'{path}: has no tenant; write one a line, as in ann = "VARIABLE_WITH_THE_TOKEN_OF_ANN"')
    names: dict[bytes | None, str] = {}
    tenants = []
    for name, variable in content.items():
        where = f"{path}: {name}"
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{where}: a tenant's name has up to 64 letters, digits, - and _")
        if not isinstance(variable, str) or variable not in environ:  # it is not shown: it may be the token itself
            raise ConfigError(f"{where}: name an environment variable that is set to the token of this tenant")
        digest = _digest_of(environ[variable], where)
        if digest in names:
            raise ConfigError(f"{path}: {names[digest]} and {name} have the same token")
        names[digest] = name
        tenants.append(TenantToken(name, digest))
    return tuple(tenants)


def _digest_of(token: str, where: str) -> bytes:
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"{where}: a token has at least {_SHORTEST} printable ASCII characters and no space; "
            "`python -c 'import secrets; print(secrets.token_urlsafe())'` makes one"
        )
    return sha256(token.encode()).digest()


def token_of(authorization: str | None) -> str | None:
    """Return the token in a request's ``Authorization``: Bearer, or the password of Basic.

    Engines that can send no header have a URL: ``http://calipers:TOKEN@HOST/`` is sent as Basic.
    """
    scheme, _, value = (authorization or "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return None
    try:
        user, _, password = b64decode(value, validate=True).decode().partition(":")
    except ValueError:
        return None
    return password or user


def tenant_with(token: str | None, tenants: Iterable[TenantToken]) -> TenantToken | None:
    """Return the tenant with this token, or None. Takes as long for any wrong token."""
    match = None
    seen = sha256((token or "").encode("utf-8", "surrogatepass")).digest()
    for tenant in tenants:  # never stops early, so that the time tells nothing
        if tenant.digest is None or hmac.compare_digest(tenant.digest, seen):
            match = tenant
    return match


def ledgers_of(tenants: Sequence[TenantToken], location: str | None) -> dict[str, str | None]:
    """Return the ledger of each tenant: the one at ``location``, or a file beside it for each of several.

    Raises ConfigError for several tenants with a database, because a tenant sees all that its ledger holds.
    """
    if location is None or len(tenants) == 1:
        return dict.fromkeys((tenant.name for tenant in tenants), location)
    if is_postgres(location):
        raise ConfigError("several tenants cannot share a ledger in Postgres: start a server for each of them")
    path = ledger_path(location)
    return {tenant.name: str(path.with_name(f"{tenant.name}.{path.name}")) for tenant in tenants}


@contextmanager
def only_server_of(ledgers: Iterable[str | None]) -> Iterator[None]:
    """Be the only server of these ledgers while the block runs; a killed server holds nothing. Postgres is shared.

    Raises LedgerError if another server has one of them. A file beside the ledger is locked, where the system can.
    """
    with ExitStack() as held:
        for ledger in ledgers:
            if ledger is None or is_postgres(ledger):
                continue
            path = ledger_path(ledger)
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
