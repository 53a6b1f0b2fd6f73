"""Finds out during a run whether a new server really applies the structured output that it is asked for.

It sends a short test request per server, or two if the first output format is ignored. It waits until the server has
answered a request of the run, because that answer has shown which parameters the server refuses. No probe fails a run,
changes a question, or enters a result. Findings are logged, and stored with what was learned about the endpoint.
Refused parameters and changed models are also logged. Not responsible for recording (``ledger``), nor for whether the
judge is reliable (``doctor``).
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calipers.backends.limits.metered import Meter
from calipers.backends.limits.pool import Pool
from calipers.backends.negotiation.format_probe import LIMIT, format_probe_request, improbable_word, is_format_applied
from calipers.backends.negotiation.negotiated import Capabilities, Negotiated
from calipers.backends.negotiation.step_down import Form
from calipers.errors import CalipersError, TransientError
from calipers.interfaces import Backend
from calipers.types import Usage

_log = logging.getLogger(__name__)

_MOST = 3
"""The most probes of an endpoint in a run. More would not help if every answer reports another model."""
_SECONDS = 30.0
"""The seconds for a short test request. A group does not wait longer."""


@dataclass(slots=True)
class _Server:
    """A server behind the judge, and its probes. ``seen`` is the state in which the server needs no report and no
    probe.
    """

    backend: Negotiated
    probes: int = 0
    in_flight: bool = False
    reported: set[str] = field(default_factory=set)
    seen: tuple[int, Capabilities] | None = None

    @property
    def state(self) -> tuple[int, Capabilities]:
        """Return a value that changes with everything that becomes known about the server."""
        return self.backend.versions.revision, self.backend.capabilities

    @property
    def form(self) -> Form | None:
        """Return the strictest output format that the server does not refuse, or None."""
        refused = self.backend.capabilities.refused
        return next((form for form in self.backend.forms if form not in refused), None)

    @property
    def ignores_form(self) -> bool:
        """Return whether the server is known to ignore the output format in use."""
        form = self.form
        return form is not None and self.backend.versions.found.get(form) is False

    def later_forms(self) -> tuple[Form, ...]:
        """Return the weaker output formats that were not tried yet, or none if all replies of the server so far were
        JSON.
        """
        form, versions, refused = self.form, self.backend.versions, self.backend.capabilities.refused
        if form is None or not versions.strayed:
            return ()
        later = self.backend.forms[self.backend.forms.index(form) + 1 :]
        return tuple(one for one in later if one not in versions.found and one not in refused)

    def unreported(self, *names: str) -> list[str]:
        """Return those of ``names`` that were not reported for this server before, and mark them as reported."""
        new = [name for name in names if name not in self.reported]
        self.reported.update(new)
        return new


class Probing:
    """Probes the servers behind the judge ``bare``, each member of a pool separately.

    ``name`` is the judge's name in log messages. If ``asks`` is False, no test request is sent, and only findings from
    the run's own answers are logged. ``bounded`` puts a backend under the run's budget and price. ``params`` are sent
    as in the run. ``max_tokens`` is the run's limit for a reply.
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
        self._servers = [_Server(backend) for backend in negotiated_servers(bare)]
        # If the user set a response format, calipers does not negotiate another.
        self._asks = asks and "response_format" not in params
        self._bounded = bounded
        self._params = params
        self._limit = LIMIT if max_tokens is None else min(LIMIT, max_tokens)
        self._tell = tell
        self.calls = 0
        self.usage = Usage(cost_usd=0.0)
        """The usage of the probes. No group's usage includes it."""

    @property
    def is_due(self) -> bool:
        """Return whether a server may need a report or a probe. Called after every group, so it only compares."""
        return any(server.seen != server.state for server in self._servers)

    async def probe_servers(self, *, seconds: float = _SECONDS) -> None:
        """Log what is new about the judge's servers, and probe those that need it, within ``seconds`` for all together.

        No failure of a server raises.
        """
        now = asyncio.get_running_loop().time
        ends = now() + min(seconds, _SECONDS)
        for server in self._servers:
            state = server.state
            self._report_changes(server)
            if (version := self._wanted(server)) is not None and now() < ends:
                await self._probe(server, version, ends)
            if server.ignores_form and server.unreported(f"ignores {server.form}"):
                self._tell(
                    f"{self._ignored(server, server.form)}: replies are not constrained, and are checked as always "
                    f"(`calipers doctor --judge {self._name}` tells whether the judge is fit)"
                )
            if not server.in_flight and self._wanted(server) is None:
                server.seen = state

    def _report_changes(self, server: _Server) -> None:
        """Log the user's parameters that the server refuses, and changes of the answering model."""
        backend = server.backend
        refused = [name for name in self._params if name in backend.capabilities.refused]
        if names := server.unreported(*refused):
            self._tell(f"{self._name}: {backend.endpoint} refuses {', '.join(names)}: questions are sent without")
        for before, after in backend.versions.changes():
            self._tell(
                f"{self._name}: {backend.endpoint} answers as {after or 'an unnamed model'} now, and answered as "
                f"{before or 'an unnamed model'} before: scores of the two may not be comparable"
            )

    def _wanted(self, server: _Server) -> str | None:
        """Return the model version that answers now if it needs a probe, else None."""
        if not self._asks or not server.backend.forms or server.in_flight or server.probes == _MOST:
            return None
        versions = server.backend.versions
        return versions.unknown or (versions.answering if server.ignores_form and server.later_forms() else None)

    async def _probe(self, server: _Server, version: str, ends: float) -> None:
        server.probes += 1
        server.in_flight = True
        try:
            async with asyncio.timeout_at(ends):
                found = await self._find_out(server)
        except (CalipersError, TimeoutError) as error:
            endpoint = server.backend.endpoint
            _log.info("%s: which output format %s applies is not known yet: %s", self._name, endpoint, error)
        else:
            server.backend.versions.store_findings(version, found)
        finally:
            server.in_flight = False

    async def _find_out(self, server: _Server) -> Mapping[str, Any]:
        """Return for each probed output format whether the server applies it, or None if the reply was cut off too
        early.

        If the server ignores the format in use and replies were not JSON, weaker formats are probed. The first that the
        server applies replaces the format in use.
        """
        form, backend = server.form, server.backend
        if form is None:
            return dict.fromkeys(backend.forms, False)
        found = dict(backend.versions.found)
        if form not in found:
            found[form] = await self._applied(backend, form)
        for other in server.later_forms() if found[form] is False else ():
            found[other] = await self._applied(backend.copy_refusing([form]), other)
            if found[other]:
                backend.learn({"refused": [form]})
                self._tell(f"{self._ignored(server, form)}; {other} is applied, and is used from now on")
                break
        return found

    async def _applied(self, backend: Negotiated, form: Form) -> bool | None:
        word = improbable_word(random.Random(f"{backend.model}\n{form}"))  # noqa: S311 - the same run asks the same
        question = format_probe_request(form, word, params=self._params, max_tokens=self._limit)
        meter = Meter()
        usage = Usage(cost_usd=0.0)
        try:
            completion = await self._bounded(backend).complete(replace(question, on_failed_call=meter.add))
            self.calls, usage = self.calls + 1, completion.usage
        finally:
            self.calls += meter.total.count
            self.usage = Usage.total([self.usage, usage, meter.total.usage])
        requested = f'"{backend.names.forms[form].rpartition(".")[2]}"'.encode()
        if _Server(backend).form != form or (completion.sent is not None and requested not in completion.sent):
            # The format was refused meanwhile, or llama.cpp garbled the answer. So this reply shows nothing about the
            # format, but a later reply may.
            raise TransientError("bad_reply", f"{form} was left out of this question")
        return is_format_applied(form, word, completion)

    def _ignored(self, server: _Server, form: Form | None) -> str:
        return f"{self._name}: {server.backend.endpoint} accepts {form} but does not apply it"


def negotiated_servers(bare: Backend) -> list[Negotiated]:
    """Return the servers behind the judge ``bare`` that are Negotiated, which means that calipers adapts to their
    refusals.
    """
    members = bare.members if isinstance(bare, Pool) else (bare,)
    return [one for one in members if isinstance(one, Negotiated)]
