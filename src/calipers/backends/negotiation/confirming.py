"""One small question that settles whether a server refuses whatever it is asked, beside everything that is recorded.

A firewall refuses a question for what candidates wrote in it, and proxies hide models they have: only a question about
nothing tells a judge that is not to be had from those. Not responsible for when it is asked, nor for what follows
(``seat``, ``refusals``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from calipers.backends.negotiation.negotiated import Negotiated
from calipers.backends.negotiation.probing import members
from calipers.errors import BackendError, CalipersError
from calipers.interfaces import Backend
from calipers.types import Ask, FailureKind, JudgeRequest, RenderedGroup, Usage

REFUSED: Final[frozenset[FailureKind]] = frozenset({"unauthorized", "not_found"})
"""401, 403, 404 and their like: the key, the model or the address, and no matter what is asked."""

_TOOK: Final[frozenset[FailureKind]] = frozenset({"bad_reply", "refused"})
"""Failures of a question by a model that took it."""

_SECONDS: Final = 30.0
_TOKENS: Final = 16
_NOBODY: Final = RenderedGroup("", (), "", "", (), ())
_MESSAGES: Final = (
    {"role": "system", "content": "You give short answers."},
    {"role": "user", "content": "Is water wet? Answer with one word."},
)


class Confirming:
    """Asks the servers behind ``bare``, within the run's budget as ``bounded`` puts a backend under it.

    A backend of the user's own is asked nothing but what it is for: its refusals are taken as they are.
    """

    def __init__(self, bare: Backend, *, bounded: Callable[[Backend], Backend]) -> None:
        self._servers = [one for one in members(bare) if isinstance(one, Negotiated)]
        self._bounded = bounded
        self.calls = 0
        self.usage = Usage(cost_usd=0.0)
        """What was spent on it: in no group's usage, for it is no group's."""

    @property
    def servers(self) -> int:
        """How many servers can be asked."""
        return len(self._servers)

    async def refusal(self, reason: str) -> str | None:
        """Why every server refuses: ``reason`` where nobody can be asked; "" where one answers, None where it is not
        known.
        """
        if not self._servers:
            return reason
        found = [await self._asked(server) for server in self._servers]
        if "" in found:
            return ""
        return None if None in found else found[0]

    async def unlisted(self) -> list[tuple[str, str | None]]:
        """What the servers' lists of models, once they were looked at, say against the model, and how that server
        refuses it.
        """
        return [(one.unlisted, await self._asked(one)) for one in self._servers if one.unlisted is not None]

    async def _asked(self, server: Negotiated) -> str | None:
        question = JudgeRequest(_MESSAGES, ("A",), Ask(0, (0,), (0,)), _NOBODY, None, _TOKENS, {})
        try:
            async with asyncio.timeout(_SECONDS):
                completion = await self._bounded(server.aside()).complete(question)
        except BackendError as error:
            if error.kind in REFUSED:
                return str(error)
            return "" if error.kind in _TOOK else None
        except (CalipersError, TimeoutError):
            return None
        self.calls += 1
        self.usage = Usage.total([self.usage, completion.usage])
        return ""
