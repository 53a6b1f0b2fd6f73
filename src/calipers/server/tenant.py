"""A tenant of the server: its judge with its ledger and its budget, and the groups that are being gathered for it."""

from __future__ import annotations

import binascii
import hmac
import os
import re
import tomllib
from base64 import b64decode
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from calipers.backends.limits.budget import Budget
from calipers.config.arguments import require_above_zero, require_whole
from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.judging.preparing import EarlySearch
from calipers.ledger import WritableLedger, open_ledger
from calipers.monitoring.monitor import Monitor
from calipers.server.answered import AnsweredGroups, RecordedGroups
from calipers.server.rollouts import Rollouts
from calipers.server.room import RefusalError, Room, draining
from calipers.server.seats import Seats
from calipers.server.whole import WholeGroups
from calipers.trainers.cohorts import Cohorts
from calipers.trainers.run import JudgedRun, complete_cohorts, run_for_floats
from calipers.types import GroupResult, TrajectoryGroup, TrajectoryResult

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


PATIENCE_OF: Final = {"openrlhf": 180.0, "slime": 120.0, "miles": 300.0, "nemo_gym": None}
"""Seconds after which an engine gives up a request and sends it again; None means that it waits for ever.

OpenRLHF 0.11.2: its agent's HTTP client. slime 0.3.1: its shared session. miles: aiohttp's default. NeMo-Gym 0.5.1:
none.
"""
_HEALTH_EVERY: Final = 256
"""Groups between two computations of the judge's health, which take as long as judging tens of groups."""
_MARGIN: Final = 10.0
"""Seconds before an engine gives up a request at which it must have its answer."""
_FOR_SIBLINGS: Final = 0.7
"""The share of an engine's patience in which a group waits for its rollouts; the rest is for the judge."""

MakeJudge = Callable[[TenantSettings, WritableLedger | None, Monitor], Judge]
"""Makes the judge of a tenant of the server."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server allows. ``wait`` is in seconds from a group's first rollout until it is judged incomplete.

    ``quorum`` is the least number of rollouts that must have arrived by then, and of rewards in a group. ``group_size``
    is for engines that do not name the size of their groups. ``body`` is the size of a request in bytes. ``patience``
    is the number of lost groups in a row after which every request is refused; None means never.
    """

    wait: float = 600.0
    quorum: int = 2
    group_size: int | None = None
    body: int = 16 * 2**20  # bytes
    patience: int | None = None

    def __post_init__(self) -> None:
        """Raise ConfigError for limits of the server that cannot work."""
        require_whole(quorum=self.quorum, group_size=self.group_size, body=self.body, patience=self.patience)
        require_above_zero(
            wait=self.wait, quorum=self.quorum, group_size=self.group_size, body=self.body, patience=self.patience
        )


class Tenant:
    """A tenant of the server. ``make_judge`` makes its judge, which records in ``ledger``; ``room`` is the tenant's.

    Raises ConfigError and LedgerError.
    """

    def __init__(
        self, settings: TenantSettings, make_judge: MakeJudge, *, ledger: str | None, room: Room, limits: Limits
    ) -> None:
        self.settings, self.limits, self.room = settings, limits, room
        self.monitor = Monitor(every=_HEALTH_EVERY, batches=False, in_pieces=True)
        self.early = EarlySearch()
        self.ledger = None if ledger is None else open_ledger(ledger)
        self.judge = make_judge(settings, self.ledger, self.monitor)
        self.run = JudgedRun(self.judge, patience=limits.patience, min_scored=limits.quorum)
        self.recorded = RecordedGroups(self.ledger)
        self._is_one_of_several = self.ledger is not None and self.ledger.claims
        scored = self.run.wrap(self.judge.score_group)
        self._scored = scored
        self._all_cohorts: list[Cohorts] = []

        def cohorts(on_closed: Callable[[Hashable], object]) -> Cohorts:
            made = Cohorts(
                self._scored_if_whole if self._is_one_of_several else scored,
                size=1,
                preparing=partial(self.judge.preparing, early=self.early),
                quorum=limits.quorum,
                deadline=limits.wait,
                on_lost=self.run.lost_before_judging,
                on_closed=on_closed,
            )
            self._all_cohorts.append(made)
            return made

        answered = AnsweredGroups(self.recorded, quorum=limits.quorum)
        self.rollouts = Rollouts(cohorts, answered, room, self.early, routed=self._is_one_of_several)
        self.groups = WholeGroups(scored, self.recorded, room)
        self.float_run = run_for_floats(self.judge, patience=limits.patience)
        self.engines = {name: Seats(self._cohorts_for(patience), room) for name, patience in PATIENCE_OF.items()}

    async def _scored_if_whole(self, group: TrajectoryGroup) -> GroupResult:
        """Judge a group of a ledger that several servers may share, unless some of its rollouts never came.

        They may have reached another server, so that each would judge a part of the group.
        """
        if self.rollouts.is_whole(group):
            return await self._scored(group)
        why = "not all rollouts of its group reached this server"
        self.run.lost_before_judging(group.group_id, why)
        rows = tuple(TrajectoryResult(one.id, "abstained", reason=why) for one in group.trajectories)
        return GroupResult(group.group_id, "abstained", rows)

    def _cohorts_for(self, patience: float | None) -> Callable[[Callable[[Hashable], object]], Cohorts]:
        wait = self.limits.wait if patience is None else min(self.limits.wait, _FOR_SIBLINGS * patience)
        limit = None if patience is None else patience - _MARGIN

        def make(on_closed: Callable[[Hashable], object]) -> Cohorts:
            made = complete_cohorts(self.float_run, size=1, deadline=wait, limit=limit, on_closed=on_closed)
            self._all_cohorts.append(made)
            return made

        return make

    def group_size(self, given: int | None) -> int:
        """Return the size of an engine's group on the server. Raises RefusalError if nobody says it."""
        size = given or self.limits.group_size
        if size is None:
            raise RefusalError(
                422,
                "invalid",
                "the size of the group is not known: add ?group_size=N to the URL, or start the server with "
                "--group-size N",
            )
        return size

    @property
    def gathering(self) -> int:
        """Return the number of the tenant's groups that the server gathers or has judged now."""
        return self.rollouts.gathering + self.groups.judging + sum(one.gathering for one in self.engines.values())

    @property
    def repeated(self) -> int:
        """Return how many requests to the server were for a rollout or group that was there already."""
        return self.rollouts.repeated + self.groups.repeated + sum(one.repeated for one in self.engines.values())

    def drain(self) -> None:
        """Ask the callers of all groups that still wait for rollouts to come again: the server is about to end."""
        self.rollouts.drain()
        for cohorts in self._all_cohorts:
            cohorts.abandon(draining())

    async def finish(self) -> None:
        """Wait until the server has judged all groups of the tenant that are complete, whether or not a caller waits.

        What was asked of the judge is so recorded, and not asked again after a restart.
        """
        for cohorts in self._all_cohorts:
            await cohorts.finish()
        await self.groups.finish()

    async def aclose(self) -> None:
        """Release all callers of the server, and close the judge's connections and the ledger."""
        for cohorts in self._all_cohorts:
            await cohorts.aclose()
        await self.judge.__aexit__(None, None, None)
        if self.ledger is not None:
            self.ledger.close()
