"""Sends a small test request that shows whether a server refuses all requests or only those of the run.

A firewall may refuse a request because of what candidates wrote in it, and some proxies serve models that they do not
list. Only a harmless request distinguishes these cases from a judge that cannot be used. The request is not recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from calipers.backends.limits.pool import Pool
from calipers.backends.negotiation import Negotiated
from calipers.errors import BackendError, CalipersError
from calipers.interfaces import Backend
from calipers.types import Ask, FailureKind, JudgeRequest, RenderedGroup, Usage

REFUSED: Final[frozenset[FailureKind]] = frozenset({"unauthorized", "not_found"})
"""Kinds of failure (401, 403, 404 and the like) that mean that the key, the model or the address is always wrong."""

_TOOK: Final[frozenset[FailureKind]] = frozenset({"bad_reply", "refused"})
"""Kinds of failure of a request that the server accepted."""

_SECONDS: Final = 30.0
_TOKENS: Final = 16
_NOBODY: Final = RenderedGroup("", (), "", "", (), ())
_MESSAGES: Final = (
    {"role": "system", "content": "You give short answers."},
    {"role": "user", "content": "Is water wet? Answer with one word."},
)


class RefusalCheck:
    """Sends test requests to the servers behind the judge ``bare``; ``bounded`` puts a backend under the run's budget.

    A backend of the user's own class gets no test requests: its refusals count without a test.
    """

    def __init__(self, bare: Backend, *, bounded: Callable[[Backend], Backend]) -> None:
        members = bare.members if isinstance(bare, Pool) else (bare,)
        self._servers = [one for one in members if isinstance(one, Negotiated)]
        self._bounded = bounded
        self.servers = len(self._servers)
        """The number of servers that can be sent a test request."""
        self.calls = 0
        self.usage = Usage(cost_usd=0.0)
        """The usage of the test requests. No group's usage includes it."""

    async def refusal(self, reason: str) -> str | None:
        """Return the reason why every server refuses a test request, "" if a server answers, or None if the result is
        unclear.

        If no server can be tested, return ``reason``.
        """
        found = [await self._asked(server) for server in self._servers] or [reason]
        return "" if "" in found else None if None in found else found[0]

    async def unlisted(self) -> list[tuple[str, str | None]]:
        """Return (text, reason) for each server whose list of models lacks the model.

        The text is the server's ``unlisted``. The reason is why it refuses a test request, "" if it answers, or None if
        the result is unclear.
        """
        return [(one.unlisted, await self._asked(one)) for one in self._servers if one.unlisted is not None]

    async def _asked(self, server: Negotiated) -> str | None:
        question = JudgeRequest(_MESSAGES, ("A",), Ask(0, (0,), (0,)), _NOBODY, None, _TOKENS, {})
        try:
            async with asyncio.timeout(_SECONDS):
                completion = await self._bounded(server.detached_copy()).complete(question)
        except BackendError as error:
            if error.kind in REFUSED:
                return str(error)
            return "" if error.kind in _TOOK else None
        except (CalipersError, TimeoutError):
            return None
        self.calls += 1
        self.usage = Usage.total([self.usage, completion.usage])
        return ""
