"""A judge behind several base URLs: each request goes to the least busy server that works.

Every member serves the same model.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.backends.limits.metered import report_error
from calipers.errors import BackendError, ConfigError, TransientError
from calipers.interfaces import Backend, FullBackend, full
from calipers.types import Completion, FailureKind, JudgeRequest

_ITS_OWN: frozenset[FailureKind] = frozenset(
    {"unreachable", "unauthorized", "not_found", "rate_limited", "server", "timeout"}
)
"""Kinds of failure that are due to the server and not to the request, so that another member may answer."""

_log = logging.getLogger("calipers.calls")

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_MEMORY = 0.9
"""The weight of earlier answers in the mean time that a server takes for one."""
_SLOWER = 1.5
"""From this multiple of the shortest time on, a server counts as slower than the others."""
_DEAD_AFTER = 3
"""A warning is logged at this many failures of a server in a row, with a pause after each."""


@dataclass(slots=True)
class _Member:
    bare: Backend
    asked: Backend
    in_flight: int = 0
    calls: int = 0
    failures: int = 0
    skipped_until: float = 0.0
    latency: float = 0.0

    def answered(self, seconds: float) -> None:
        """Note how long an answer took; the mean forgets old ones."""
        self.latency = seconds if not self.latency else _MEMORY * self.latency + (1 - _MEMORY) * seconds


class Pool(FullBackend):
    """Serves as a single judge whose requests go to several ``members``.

    A request goes to the member with the fewest calls in flight, of several to one that is not slower than the others.
    The pool has the first member's endpoint, so the ledger keys do not depend on the other members. A member that fails
    is skipped: at first for a second, later for up to a minute, or as long as the server asks for. Then one call tests
    it. A failed request goes to another member at once, unless the request caused the failure or timed out. If all
    members are skipped, the request goes to the member whose pause ends first. ``each`` wraps every member, for example
    with its own rate limit.
    """

    def __init__(
        self,
        members: Sequence[Backend],
        *,
        each: Callable[[Backend], Backend] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not members:
            raise ConfigError("base_url is an empty list: name one URL or more")
        names = [member.endpoint for member in members]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ConfigError(f"base_url names {', '.join(twice)} more than once")
        if len({member.model for member in members}) > 1:
            raise ConfigError("the members of a pool serve one model; judges that differ are a panel")
        self.members = tuple(full(member) for member in members)
        self.endpoint = members[0].endpoint
        self.model = members[0].model
        self.has_tools = all(member.has_tools for member in self.members)
        self._members = [_Member(member, each(member) if each else member) for member in self.members]
        self._clock = clock
        self._lock = threading.Lock()

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the answer of the pool's first backend that answers. Raises BackendError if no member answers."""
        tried: list[_Member] = []
        last: BackendError | None = None
        while (member := self._choose(tried)) is not None:
            started = self._clock()
            try:
                completion = await member.asked.complete(request)
            except BackendError as error:
                if error.kind not in _ITS_OWN:
                    raise
                self._skip(member, error)
                report_error(request, error)
                # A transient failure takes precedence over a permanent one, because a retry makes sense after it.
                last = error if last is None or isinstance(error, TransientError) else last
                tried.append(member)
                if error.kind == "timeout":
                    break
            else:
                member.answered(completion.latency or self._clock() - started)
                if member.failures:
                    member.failures = 0
                    _log.info("%s at %s: it answers again", self.model, member.bare.endpoint)
                return completion
            finally:
                with self._lock:
                    member.in_flight -= 1
        assert last is not None  # noqa: S101 - there is a member, and it failed
        raise last

    async def aclose(self) -> None:
        """Close the connections of all backends of the pool that belong to the running event loop. Loops also close
        their connections when they end.
        """
        for member in self.members:
            await member.aclose()

    async def check(self) -> list[str]:
        """Check every backend of the pool and return all warnings. A backend that fails gives a warning. Raises
        ConfigError if all fail.
        """
        found = await asyncio.gather(*(_checked(member) for member in self.members))
        errors = [one for one in found if isinstance(one, ConfigError)]
        if len(errors) == len(found):
            raise errors[0]
        known = [member.context_window for member in self.members if member.context_window is not None]
        self.context_window = min(known, default=None)
        slots = [member.slots for member in self.members]
        self.slots = None if None in slots else sum(one or 0 for one in slots)
        return [str(one) for one in errors] + [line for one in found if isinstance(one, list) for line in one]

    def learned(self) -> Mapping[str, Any]:
        """Return what every backend of the pool learned about its server, by endpoint."""
        return {one.endpoint: dict(known) for one in self.members if (known := one.learned())}

    def learn(self, known: Mapping[str, Any]) -> None:
        """Start with what an earlier run learned about the pool's servers.

        What a judge with a single server learned applies to all members.
        """
        for one in self.members:
            about = known.get(one.endpoint, {} if any(name in known for name in self._endpoints()) else known)
            if isinstance(about, Mapping):
                one.learn(about)

    def _endpoints(self) -> list[str]:
        return [member.endpoint for member in self.members]

    def _choose(self, tried: Sequence[_Member]) -> _Member | None:
        """Return the next member to ask, or None if every member was tried or is skipped. The member counts as busy at
        once.
        """
        with self._lock:
            now = self._clock()
            left = [member for member in self._members if all(member is not one for one in tried)]
            due = [
                member for member in left if member.failures and member.skipped_until <= now and not member.in_flight
            ]
            well = [member for member in left if not member.failures]
            chosen: _Member | None = None
            if due or well:
                slow = _SLOWER * min((member.latency for member in well if member.latency), default=0.0)
                chosen = min(due or well, key=lambda member: (member.in_flight, member.latency > slow, member.calls))
            elif left and not tried:
                chosen = min(left, key=lambda member: member.skipped_until)
            if chosen is not None:
                chosen.in_flight += 1
                chosen.calls += 1
            return chosen

    def _skip(self, member: _Member, error: BackendError) -> None:
        with self._lock:
            pause = min(_FIRST_PAUSE * 2 ** min(member.failures, 10), _LONGEST_PAUSE)
            if isinstance(error, TransientError) and error.retry_after is not None:
                pause = max(pause, error.retry_after)
            now = self._clock()
            if now >= member.skipped_until:  # calls that were in flight when the pause began do not extend it
                member.failures += 1
                member.skipped_until = now + pause
                level = logging.WARNING if member.failures == _DEAD_AFTER else logging.INFO
                _log.log(
                    level, "%s at %s: it fails (%s), and is skipped for %.0f s; other servers are asked instead",
                    *(self.model, member.bare.endpoint, error.kind, pause),
                )  # fmt: skip


async def _checked(member: FullBackend) -> list[str] | ConfigError:
    try:
        return list(await member.check())
    except ConfigError as error:
        return error
