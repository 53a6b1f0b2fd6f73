"""A judge behind several base URLs: each request goes to the least busy server that works.

Every member serves the same model.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from calipers.errors import BackendError, ConfigError, TransientError
from calipers.interfaces import Backend, FullBackend, full
from calipers.types import Completion, FailureKind, JudgeRequest

_log = logging.getLogger("calipers.calls")

_ITS_OWN: Final[frozenset[FailureKind]] = frozenset(
    {"unreachable", "unauthorized", "not_found", "rate_limited", "server", "timeout"}
)
"""Kinds of failure that are due to the server and not to the request, so that another member may answer."""
_PAUSE: Final = 15.0
"""For how many seconds a member that failed is skipped, if it does not name a time. Then one call tests it."""
_LONG_PAUSE: Final = 60.0
"""The same after a permanent failure, such as a wrong key."""


@dataclass(slots=True, eq=False)
class _Member:
    backend: FullBackend
    in_flight: int = 0
    calls: int = 0
    skipped_until: float = 0.0


class Pool(FullBackend):
    """Serves as a single judge whose requests go to several ``members``.

    A request goes to the member with the fewest calls in flight. The pool has the first member's endpoint, so the
    ledger keys do not depend on the other members. A member that fails is skipped for a while. A failed request goes to
    another member at once, unless the request caused the failure or timed out. If all members are skipped, the request
    goes to the member whose pause ends first.
    """

    def __init__(self, members: Sequence[Backend], *, clock: Callable[[], float] = time.monotonic) -> None:
        if not members:
            raise ConfigError("base_url is an empty list: name one URL or more")
        names = [member.endpoint for member in members]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ConfigError(f"base_url names {', '.join(twice)} more than once")
        self.members = tuple(full(member) for member in members)
        self.endpoint, self.model = members[0].endpoint, members[0].model
        self.has_tools = all(member.has_tools for member in self.members)
        self._members = [_Member(member) for member in self.members]
        self._clock, self._lock = clock, threading.Lock()

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the answer of the pool's first backend that answers. Raises BackendError if no member answers."""
        return await self.complete_with(lambda member, asked: member.complete(asked), request)

    async def complete_with(
        self, ask: Callable[[Backend, JudgeRequest], Awaitable[Completion]], request: JudgeRequest
    ) -> Completion:
        """Do as ``complete``, with ``ask`` for each call to a member."""
        last: BackendError | None = None
        for member in self._in_turn():
            with self._lock:
                member.in_flight += 1
                member.calls += 1
            try:
                completion = await ask(member.backend, request)
            except BackendError as error:
                if error.kind not in _ITS_OWN:
                    raise
                self._skip(member, error)
                # A transient failure takes precedence over a permanent one, because a retry makes sense after it.
                last = error if last is None or isinstance(error, TransientError) else last
                if error.kind == "timeout":
                    break
            else:
                member.skipped_until = 0.0
                return completion
            finally:
                with self._lock:
                    member.in_flight -= 1
        assert last is not None  # noqa: S101 - there is a member, and it failed
        raise last

    async def aclose(self) -> None:
        """Close the connections of all backends of the pool that belong to the running event loop."""
        for member in self.members:
            await member.aclose()

    async def check(self) -> list[str]:
        """Check every backend of the pool and return all warnings. A backend that fails gives a warning. Raises
        ConfigError if all fail.
        """
        warnings: list[str] = []
        errors: list[ConfigError] = []
        for member in self.members:
            try:
                warnings += await member.check()
            except ConfigError as error:
                errors.append(error)
        if len(errors) == len(self.members):
            raise errors[0]
        return [*map(str, errors), *warnings]

    def learned(self) -> Mapping[str, Any]:
        """Return what every backend of the pool learned about its server, by endpoint."""
        return {member.endpoint: dict(known) for member in self.members if (known := member.learned())}

    def learn(self, known: Mapping[str, Any]) -> None:
        """Start with what an earlier run learned about the pool's servers; of a single server, it is for all."""
        by_endpoint = any(member.endpoint in known for member in self.members)
        for member in self.members:
            facts = known.get(member.endpoint, {}) if by_endpoint else known
            if isinstance(facts, Mapping):
                member.learn(facts)

    def _in_turn(self) -> Sequence[_Member]:
        """Return the members that are not skipped, the least busy first; or else the one whose pause ends first."""
        with self._lock:
            now = self._clock()
            usable = [member for member in self._members if member.skipped_until <= now]
            turn = sorted(usable, key=lambda member: (member.in_flight, member.calls))
            turn = turn or [min(self._members, key=lambda member: member.skipped_until)]
            if turn[0].skipped_until:  # this call tests it, and the others wait for what becomes of it
                turn[0].skipped_until = max(turn[0].skipped_until, now + _PAUSE)
            return turn

    def _skip(self, member: _Member, error: BackendError) -> None:
        with self._lock:
            now, is_new = self._clock(), member.skipped_until == 0
            pause = _LONG_PAUSE
            if isinstance(error, TransientError):
                pause = _PAUSE if error.retry_after is None else error.retry_after
            member.skipped_until = max(member.skipped_until, now + pause)
        if is_new:
            _log.warning(
                "%s at %s fails (%s), and is skipped for %.0f s; other servers are asked instead",
                *(self.model, member.backend.endpoint, error.kind, pause),
            )
