"""Requests that wake a judge's server or put it to rest, such as vLLM's ``/wake_up`` and ``/sleep?level=1``.

They are made with blocking sockets, in a thread of their own: they outlast event loops, and work while the interpreter
exits. Not responsible for when they are made (``limits.waking``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from calipers.errors import BackendError, ConfigError, PermanentError, TransientError

if TYPE_CHECKING:
    from urllib.error import HTTPError
    from urllib.request import OpenerDirector

_EXCERPT = 200


def addresses_of_switch(name: str, targets: Sequence[str], servers: Sequence[str]) -> list[str]:
    """Return the addresses that the option ``name`` of a judge means, in order. A path is one of each of ``servers``.

    Raises ConfigError for a path without a server, and for an address that cannot work.
    """
    found: list[str] = []
    for target in targets:
        if target.startswith("/"):
            if not servers:
                raise ConfigError(f"{name}={target!r}: the judge has no address that the path could belong to")
            found += [_at(server, target) for server in servers]
        else:
            found.append(target)
    for one in found:
        parts = urlsplit(one)
        if not parts.hostname:
            raise ConfigError(f"{name}={one!r}: write an address such as http://gpu1:8000/wake_up")
        if "@" in parts.netloc:
            raise ConfigError(f"{name}: the address holds a user name or a password; use a function instead")
    return found


def _at(server: str, path: str) -> str:
    parts = urlsplit(server)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/").removesuffix("/v1"), "", "")) + path


def post_to_all(addresses: Sequence[str], *, doing: str, timeout: float) -> None:
    """POST an empty JSON object to the addresses of a judge's servers, one after another.

    ``doing`` (``"wake"``, ``"rest"``) begins the message of an error. Raises BackendError at the first that fails.
    """
    for one in addresses:
        _post(one, doing=doing, timeout=timeout)


def _post(address: str, *, doing: str, timeout: float) -> None:
    from http.client import HTTPException  # noqa: PLC0415 - `import calipers` stays quick
    from urllib.error import HTTPError  # noqa: PLC0415 - likewise
    from urllib.request import Request  # noqa: PLC0415 - likewise

    headers = {"content-type": "application/json", "user-agent": "calipers"}
    asked = Request(address, data=b"{}", headers=headers, method="POST")  # noqa: S310 - http and https alone get here
    try:
        with _opener(urlsplit(address).hostname or "").open(asked, timeout=timeout) as reply:
            reply.read()
    except HTTPError as error:
        with error:  # it holds the connection
            raise _refusal(f"{doing}: {address}", error) from error
    except (OSError, ValueError, HTTPException) as error:
        why = getattr(error, "reason", error)
        if isinstance(why, TimeoutError):
            raise TransientError("timeout", f"{doing}: {address} gave no answer within {timeout:g} s") from error
        raise TransientError("unreachable", f"{doing}: nothing answers at {address} ({why})") from error


def _opener(host: str) -> OpenerDirector:
    """Return what sends requests: through the environment's proxy unless ``host`` is loopback, without redirects."""
    from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener  # noqa: PLC0415 - as above

    class NoRedirects(HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            """Follow none: a redirected POST becomes a GET, which wakes nothing."""
            return

    own = host == "localhost" or host.startswith("127.") or host == "::1"
    return build_opener(*([ProxyHandler({})] if own else []), NoRedirects())


def _refusal(what: str, error: HTTPError) -> BackendError:
    body = error.read(_EXCERPT).decode("utf-8", "replace").strip()
    said = f"{what} answers with HTTP {error.code}{f' ({body})' if body else ''}"
    if error.code in {404, 405}:
        hint = "vLLM has /wake_up and /sleep only with --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1"
        return PermanentError("not_found", f"{said}. {hint}.", fatal=True)
    if error.code in {401, 403}:
        return PermanentError("unauthorized", f"{said}. A request with a key needs a function.", fatal=True)
    return TransientError("server", said)
