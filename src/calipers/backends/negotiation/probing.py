"""Finds out, once a new server has answered, whether it really applies the form it is asked for; says who is new, and
which of the user's parameters are refused.

One short question a server (two where the form is ignored), asked beside a run, after an answer of its own came from
there: what the server refuses is known by then. Nothing here fails a run, changes a question, or is in a result: what
is found is told in the log, and kept with what the endpoint taught. Not responsible for keeping it (``ledger``), nor
for whether a judge is any good (``doctor``).
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from calipers.backends.limits.metered import Meter
from calipers.backends.limits.pool import Pool
from calipers.backends.negotiation.form_question import LIMIT, form_applied, form_question, improbable
from calipers.backends.negotiation.negotiated import Capabilities, Negotiated
from calipers.backends.negotiation.step_down import Form
from calipers.errors import CalipersError, TransientError
from calipers.interfaces import Backend
from calipers.types import Usage

_log = logging.getLogger(__name__)

_MOST = 3
"""Times an endpoint is looked at in a run: for one that answers as somebody else each time, that is enough."""
_SECONDS = 30.0
"""A tiny question; one that takes longer is not worth a group's waiting."""


class Probing:
    """Looks at the servers behind ``bare``, which people know as ``name``; each of a pool by itself.

    ``asks`` False: nothing is asked, and only what the run's own answers showed is told. ``bounded`` puts a backend
    under the run's budget and price; ``params`` go with a question as in the run, and ``max_tokens`` is its limit
    there.
    """

    def __init__(
        self,
        name: str,
        bare: Backend,
        *,
        asks: bool,
        bounded: Callable[[Backend], Backend],
        params: Mapping[str, Any],
        max_tokens: int | None = None,
        tell: Callable[[str], None] = _log.warning,
    ) -> None:
        self._name = name
        self._servers = [one for one in members(bare) if isinstance(one, Negotiated)]
        # With a form of the user's own nothing is negotiated.
        self._asks = asks and "response_format" not in params
        self._bounded = bounded
        self._params = params
        self._limit = LIMIT if max_tokens is None else min(LIMIT, max_tokens)
        self._tell = tell
        self._looked: dict[str, int] = {}
        self._looking: set[str] = set()
        self._told: set[tuple[str, str]] = set()
        self._done: dict[str, tuple[int, Capabilities]] = {}
        self.calls = 0
        self.usage = Usage(cost_usd=0.0)
        """What was spent on it: in no group's usage, for it is no group's."""

    @property
    def is_due(self) -> bool:
        """Whether there may be something to be said or asked. Looked at after every group, so it compares and no
        more.
        """
        return any(self._done.get(one.endpoint) != _turn(one) for one in self._servers)

    async def look(self, *, seconds: float = _SECONDS) -> None:
        """Tell who is new, and ask what is not known of them, within ``seconds``. Raises nothing for a server's
        doing.
        """
        now = asyncio.get_running_loop().time
        ends = now() + min(seconds, _SECONDS)  # of all servers together: a group waits for this
        for server in self._servers:
            turn = _turn(server)
            if names := self._left_out(server):
                self._told.update((server.endpoint, name) for name in names)
                self._tell(f"{self._name}: {server.endpoint} refuses {', '.join(names)}: questions go out without")
            for before, after in server.versions.changes():
                self._tell(
                    f"{self._name}: {server.endpoint} answers as {after or 'nobody'} now, and answered as "
                    f"{before or 'nobody'} before: scores of the two may not compare"
                )
            if (version := self._wanted(server)) is not None and now() < ends:
                self._looked[server.endpoint] = self._looked.get(server.endpoint, 0) + 1
                self._looking.add(server.endpoint)
                try:
                    async with asyncio.timeout_at(ends):
                        found = await self._found(server)
                except (CalipersError, TimeoutError) as error:
                    _log.info("%s: which form %s applies is not known yet: %s", self._name, server.endpoint, error)
                else:
                    server.versions.keep(version, found)
                finally:
                    self._looking.discard(server.endpoint)
            if form := self._ignores(server):
                self._told.add((server.endpoint, form))
                self._tell(f"{self._ignored(server, form)}: its replies are held to no form ({self._remedy()})")
            if server.endpoint not in self._looking and self._wanted(server) is None:
                self._done[server.endpoint] = turn

    def _left_out(self, server: Negotiated) -> list[str]:
        """The user's own parameters that the server refuses, where that was not told yet."""
        refused = server.capabilities.refused
        return [name for name in self._params if name in refused and (server.endpoint, name) not in self._told]

    def _ignores(self, server: Negotiated) -> Form | None:
        """The form that is asked for and known to be ignored, by this run or an earlier one, where that was not told
        yet.
        """
        form = _in_use(server)
        ignored = form is not None and server.versions.found.get(form) is False
        return form if ignored and (server.endpoint, form) not in self._told else None

    def _wanted(self, server: Negotiated) -> str | None:
        """Who answers there now and is to be asked, or None."""
        if not self._asks or not server.forms or server.endpoint in self._looking:
            return None
        if self._looked.get(server.endpoint, 0) == _MOST:
            return None
        versions, form = server.versions, _in_use(server)
        ignored = form is not None and versions.found.get(form) is False
        return versions.unknown or (versions.answering if ignored and _plainer(server, form) else None)

    async def _found(self, server: Negotiated) -> Mapping[str, Any]:
        """Whether the form in use is applied, by name; None where the answer was cut before it told, as it would be
        again.

        Where it is not, and answers were no JSON, a plainer one that is applied takes its place. A judge that keeps to
        the form unasked is left alone: what works is not changed.
        """
        form = _in_use(server)
        if form is None:
            return dict.fromkeys(server.forms, False)
        found = dict(server.versions.found)
        if form not in found:
            found[form] = await self._applied(server, form)
        for other in _plainer(server, form) if found[form] is False else ():
            found[other] = await self._applied(server.refusing([form]), other)
            if found[other]:
                server.learn({"refused": [form]})
                self._tell(f"{self._ignored(server, form)}; {other} is applied, and asked for from now on")
                break
        return found

    async def _applied(self, server: Negotiated, form: Form) -> bool | None:
        word = improbable(random.Random(f"{server.model}\n{form}"))  # noqa: S311 - the same run asks the same
        question = form_question(form, word, params=self._params, max_tokens=self._limit)
        meter = Meter()
        usage = Usage(cost_usd=0.0)
        try:
            completion = await self._bounded(server).complete(replace(question, on_failed_call=meter.add))
            self.calls, usage = self.calls + 1, completion.usage
        finally:
            self.calls += meter.total.count
            self.usage = Usage.total([self.usage, usage, meter.total.usage])
        asked_for = f'"{server.names.forms[form].rpartition(".")[2]}"'.encode()
        if _in_use(server) != form or (completion.sent is not None and asked_for not in completion.sent):
            # Refused meanwhile, or garbled by llama.cpp: the answer says nothing, and another one may.
            raise TransientError("bad_reply", f"{form} was left out of this question")
        return form_applied(form, word, completion)

    def _ignored(self, server: Negotiated, form: Form) -> str:
        return f"{self._name}: {server.endpoint} takes a {form} without a word and does not apply it"

    def _remedy(self) -> str:
        return f"they are checked all the same; `calipers doctor --judge {self._name}` tells whether it is fit"


def _turn(server: Negotiated) -> tuple[int, Capabilities]:
    """What is another as soon as there is something new to be known about a server."""
    return server.versions.revision, server.capabilities


def _in_use(server: Negotiated) -> Form | None:
    """The best form that is not refused."""
    return next((form for form in server.forms if form not in server.capabilities.refused), None)


def _plainer(server: Negotiated, form: Form | None) -> tuple[Form, ...]:
    """The forms that may do where ``form`` is ignored: none where answers kept to it all the same."""
    versions = server.versions
    if form is None or not versions.strayed:
        return ()
    later = server.forms[server.forms.index(form) + 1 :]
    return tuple(one for one in later if one not in versions.found and one not in server.capabilities.refused)


def members(bare: Backend) -> Iterable[Backend]:
    """The servers behind one judge."""
    return bare.members if isinstance(bare, Pool) else (bare,)
