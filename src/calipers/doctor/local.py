"""Which judges are within reach of this machine: keys in the environment, servers at their usual local addresses.

Only loopback is asked, and only for its list of models. Values of keys are looked at for being there, and never shown.
Not responsible for whether a key works or a judge is any good (``examination``).
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
from calipers.backends.names import shown_url
from calipers.backends.providers.known import PROVIDERS, Provider
from calipers.doctor.entrance import listed_models, window_of
from calipers.errors import BackendError, ConfigError

_PATIENCE = 1.5
"""Seconds; a server on this machine lists its models at once, or is not one."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Key:
    """A provider whose key is in the environment, under ``variable``. ``told_by`` is the variable that names its address, if one does."""

    provider: str
    variable: str
    base_url: str
    told_by: str | None = None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A server that the environment names, under ``told_by``, and that is not on this machine: it is not asked."""

    provider: str
    base_url: str
    told_by: str


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A usual address on this machine: ``models`` it lists, by window in tokens where told, or ``reason`` why none."""

    base_url: str
    providers: tuple[str, ...]
    answers: bool
    models: Mapping[str, int | None]
    reason: str | None = None

    @property
    def judges(self) -> tuple[str, ...]:
        """Names to give to ``--judge``: those of the first provider this address is usual for."""
        return tuple(f"{self.providers[0]}/{model}" for model in self.models)


@dataclass(frozen=True, slots=True)
class Within:
    """What is within reach. ``litellm``: that extra is installed. ``always`` are judges that answer in this process."""

    keys: tuple[Key, ...]
    servers: tuple[LocalServer, ...]
    litellm: bool
    elsewhere: tuple[Elsewhere, ...] = ()
    always: tuple[str, ...] = ("embedded",)

    def to_dict(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "always": list(self.always),
            "keys": [asdict(one) for one in self.keys],
            "servers": [{**asdict(one), "judges": list(one.judges)} for one in self.servers],
            "elsewhere": [asdict(one) for one in self.elsewhere],
            "litellm": self.litellm,
        }


async def within_reach(
    known: Mapping[str, Provider] | None = None, *, environment: Mapping[str, str] | None = None
) -> Within:
    """Look around; takes at most some two seconds. Never raises for what a server does."""
    added = registry.BACKENDS.others()
    if known is None:
        known = {**PROVIDERS} | {name: one for name, one in added.items() if isinstance(one, Provider)}
    variables = os.environ if environment is None else environment
    keys: list[Key] = []
    elsewhere: list[Elsewhere] = []
    by_address: dict[str, list[str]] = {}
    for name, one in known.items():
        named = _named(one, variables)
        url, told_by = named or (one.base_url, None)
        if held := one.credential(variables):
            keys.append(Key(name, held, url, told_by))
        if urlsplit(url).hostname in _LOOPBACK:
            by_address.setdefault(url, []).append(name)
        elif told_by is not None and not one.needs_key and held is None:
            elsewhere.append(Elsewhere(name, url, told_by))
    asked = (_look(url, tuple(names), known, variables) for url, names in by_address.items())
    found = tuple(await asyncio.gather(*asked))
    here = tuple(name for name, one in added.items() if not isinstance(one, Provider))
    return Within(tuple(keys), found, find_spec("litellm") is not None, tuple(elsewhere), ("embedded", *here))


def _named(one: Provider, variables: Mapping[str, str]) -> tuple[str, str] | None:
    """The address that the environment names, without a password in it; one that cannot be read is shown as it stands there."""
    try:
        named = one.named_address(variables)
    except ConfigError as error:
        return str(error), "the environment"
    return None if named is None else (shown_url(named[0]), named[1])


async def _look(
    url: str, names: tuple[str, ...], known: Mapping[str, Provider], variables: Mapping[str, str]
) -> LocalServer:
    from calipers.backends.transport.http import HttpClient  # noqa: PLC0415 - aiohttp takes 0.1 s to import

    key = next((variables[held] for name in names if (held := known[name].credential(variables))), None)
    client = HttpClient(url, headers={"authorization": f"Bearer {key}"} if key else {}, timeout=_PATIENCE)
    try:
        reply = await client.request("GET", "/models")
    except BackendError as error:
        return LocalServer(url, names, answers=error.kind == "bad_reply", models={}, reason=str(error))
    finally:
        await client.aclose()
    if reply.status in {401, 403}:
        wanted = " or ".join(known[name].key for name in names)
        return LocalServer(url, names, answers=True, models={}, reason=f"it wants a key: set {wanted}")
    rows = listed_models(reply)
    if rows is None:
        reason = f"it lists no models (HTTP {reply.status}): another program, perhaps"
        return LocalServer(url, names, answers=True, models={}, reason=reason)
    return LocalServer(url, names, answers=True, models={row["id"]: window_of(rows, row["id"]) for row in rows})
