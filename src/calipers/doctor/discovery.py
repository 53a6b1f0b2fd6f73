"""Finds judges that can be used from this machine: by keys in the environment, and by servers at local addresses.

Only loopback addresses are contacted, and only for their list of models. Keys are never printed; only their presence is
checked.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from calipers import registry
from calipers.backends.names import url_without_password
from calipers.backends.providers.known import PROVIDERS, Provider
from calipers.doctor.reachability import model_rows, window_of
from calipers.errors import BackendError, ConfigError

_TIMEOUT = 1.5
"""The seconds to wait for a server. This can be short, because a server on this machine lists its models at once."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Key:
    """A provider of judges whose key is in the environment variable ``variable``.

    ``named_by`` is the variable with the provider's address, if it is set.
    """

    provider: str
    variable: str
    base_url: str
    named_by: str | None = None


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """A server that is not on this machine and is not contacted. Its address is in the variable ``named_by``."""

    provider: str
    base_url: str
    named_by: str


@dataclass(frozen=True, slots=True)
class LocalServer:
    """An address on this machine that servers usually have, with the answer from there.

    ``models`` maps each model to its context window in tokens, if known. ``reason`` explains why there is no model.
    ``software`` is what the list of models names as their owner.
    """

    base_url: str
    providers: tuple[str, ...]
    answers: bool
    models: Mapping[str, int | None]
    reason: str | None = None
    software: str | None = None

    @property
    def judges(self) -> tuple[str, ...]:
        """Return the judges of this server as names for ``--judge``.

        If the address is the default of several providers, the names begin with the first of these.
        """
        return tuple(f"{self.providers[0]}/{model}" for model in self.models)


@dataclass(frozen=True, slots=True)
class JudgesFound:
    """The judges that the doctor found. ``litellm`` is True if LiteLLM is installed.

    ``always`` are judges that run in this process.
    """

    keys: tuple[Key, ...]
    servers: tuple[LocalServer, ...]
    litellm: bool
    elsewhere: tuple[RemoteServer, ...] = ()
    always: tuple[str, ...] = ("embedded",)

    def to_dict(self) -> dict[str, Any]:
        """Return the judges that the doctor found as a JSON object."""
        return {
            "always": list(self.always),
            "keys": [asdict(one) for one in self.keys],
            "servers": [{**asdict(one), "judges": list(one.judges)} for one in self.servers],
            "elsewhere": [asdict(one) for one in self.elsewhere],
            "litellm": self.litellm,
        }


async def find_judges(
    known: Mapping[str, Provider] | None = None, *, environment: Mapping[str, str] | None = None
) -> JudgesFound:
    """Find, for the doctor, the judges that can be used from this machine, in at most about two seconds. No server
    failure raises.
    """
    added = registry.BACKENDS.others()
    if known is None:
        known = {**PROVIDERS} | {name: one for name, one in added.items() if isinstance(one, Provider)}
    variables = os.environ if environment is None else environment
    keys: list[Key] = []
    elsewhere: list[RemoteServer] = []
    by_address: dict[str, list[str]] = {}
    for name, one in known.items():
        named = _named(one, variables)
        url, named_by = named or (one.base_url, None)
        if held := one.credential(variables):
            keys.append(Key(name, held, url, named_by))
        if urlsplit(url).hostname in _LOOPBACK:
            by_address.setdefault(url, []).append(name)
        elif named_by is not None and not one.needs_key and held is None:
            elsewhere.append(RemoteServer(name, url, named_by))
    asked = (_query(url, tuple(names), known, variables) for url, names in by_address.items())
    found = tuple(await asyncio.gather(*asked))
    here = tuple(name for name, one in added.items() if not isinstance(one, Provider))
    return JudgesFound(tuple(keys), found, find_spec("litellm") is not None, tuple(elsewhere), ("embedded", *here))


async def find_server(url: str, *, environment: Mapping[str, str] | None = None) -> LocalServer:
    """Find, for the doctor, what an OpenAI-compatible server at ``url`` offers. Nothing is paid; no failure raises.

    The only key that is sent is the one for servers of one's own (``vllm``), if the environment has it.
    """
    variables = os.environ if environment is None else environment
    return await _query(url, ("vllm",), PROVIDERS, variables)


def _named(one: Provider, variables: Mapping[str, str]) -> tuple[str, str] | None:
    """Return a provider's address in the environment, without its password, and the name of its variable.

    Return None if the environment has no address. For an invalid address, return the error in its place.
    """
    try:
        named = one.named_address(variables)
    except ConfigError as error:
        return str(error), "the environment"
    return None if named is None else (url_without_password(named[0]), named[1])


async def _query(
    url: str, names: tuple[str, ...], known: Mapping[str, Provider], variables: Mapping[str, str]
) -> LocalServer:
    from calipers.backends.transport.http import HttpClient  # noqa: PLC0415 - aiohttp takes 0.1 s to import

    key = next((variables[held] for name in names if (held := known[name].credential(variables))), None)
    client = HttpClient(url, headers={"authorization": f"Bearer {key}"} if key else {}, timeout=_TIMEOUT)
    try:
        reply = await client.request("GET", "/models")
    except BackendError as error:
        return LocalServer(url, names, answers=error.kind == "bad_reply", models={}, reason=str(error))
    finally:
        await client.aclose()
    if reply.status in {401, 403}:
        wanted = " or ".join(known[name].key for name in names)
        why = f"it refuses the key: check {wanted}" if key else f"it requires a key: set {wanted}"
        return LocalServer(url, names, answers=True, models={}, reason=why)
    rows = model_rows(reply)
    if rows is None:
        reason = f"it lists no models (HTTP {reply.status}); it may be another program"
        return LocalServer(url, names, answers=True, models={}, reason=reason)
    owners = {owner for row in rows if isinstance(owner := row.get("owned_by"), str)}
    software = owners.pop() if len(owners) == 1 else None
    models: dict[str, int | None] = {}
    for row in rows:
        models.setdefault(row["id"], window_of([row], row["id"]))
    return LocalServer(url, names, answers=True, models=models, software=software)
