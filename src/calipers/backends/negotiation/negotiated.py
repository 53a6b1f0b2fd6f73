"""A backend that adapts its requests to what its server refuses, and notices when another model answers.

If the server refuses a parameter by name, the request is sent again at once without it. This is not a retry. Later
requests omit the parameter, too. Not responsible for what a refusal means (``step_down``), for what a server ignores
(``probing``), nor for sending (``server``).
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from calipers.backends.negotiation.step_down import BodyNames, Form, step_down
from calipers.backends.transport.refusals import Refusal, read_refusal
from calipers.backends.transport.reply import HttpReply
from calipers.interfaces import FullBackend
from calipers.types import Completion, FailedCall, JudgeRequest, Usage

_log = logging.getLogger("calipers.negotiation")

_MOST_STEPS = 8
"""The most times that a request is sent. Every repeat omits something more, and some servers refuse without end."""
_MOST_VERSIONS = 8
"""How many model versions are stored. A provider may serve several at the same time; old versions do not return."""
_GARBLED = re.compile(r"does not match the expected [\w-]+ format")
"""The error of llama.cpp when it cannot parse what its own grammar allowed the model to write."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a judge's server refused for a model. An empty set means that requests ask for everything.

    ``refused`` holds parameter names, ``json_schema``, ``json_object``, ``strict``, ``schema.KEYWORD``, ``unstreamed``
    (this model only streams) and ``top_logprobs>N`` (more than N alternatives). The set only grows, so many calls in
    flight may add to it at once and in any order.
    """

    refused: frozenset[str] = frozenset()

    def without(self, more: frozenset[str]) -> Capabilities:
        """Return these capabilities of a judge's server with ``more`` also refused, or the same object if ``more`` adds
        nothing.
        """
        return self if more <= self.refused else Capabilities(self.refused | more)

    def to_dict(self) -> dict[str, Any]:
        """Return the server's capabilities as plain JSON, equal for equal capabilities."""
        return {"refused": sorted(self.refused)}

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> Capabilities:
        """Return the server's capabilities from the JSON that ``to_dict`` returned."""
        return Capabilities(frozenset(str(name) for name in value.get("refused", ())))


@dataclass(frozen=True, slots=True)
class Terms:
    """What a request body may ask for: nothing in ``known.refused``, and at most ``limit`` output tokens.

    ``plain`` is True if the request must not ask for structured output.
    """

    known: Capabilities
    limit: int | None = None
    plain: bool = False


Frame = Callable[[Terms], dict[str, Any]]
"""Returns a request body that asks for everything that the terms allow."""
Send = Callable[[Mapping[str, Any]], Awaitable[HttpReply]]


class Negotiated(FullBackend):
    """Sends requests to ``model`` without what its server refuses. When a new model version answers, refusals are
    forgotten.

    ``forms`` are the structured outputs that may be requested, the strictest first. ``names`` are the field names of
    the API's request bodies.
    """

    forms: ClassVar[tuple[Form, ...]] = ()
    names: ClassVar[BodyNames]
    unlisted: str | None = None
    """Set by ``check``: a text if the server's list of models lacks this model, otherwise None."""

    def __init__(self, model: str, *, capabilities: Capabilities | None = None) -> None:
        self.model = model
        self.capabilities = capabilities or Capabilities()
        """What the endpoint is known to refuse. Every further refusal adds to it."""
        self.versions = Versions()

    def learned(self) -> Mapping[str, Any]:
        """Return what the server refuses and which versions answered, as plain JSON for later runs."""
        return {**self.capabilities.to_dict(), **self.versions.learned()}

    def learn(self, known: Mapping[str, Any]) -> None:
        """Start with the refusals and versions that an earlier run learned about the server."""
        self.capabilities = self.capabilities.without(Capabilities.from_dict(known).refused)
        self.versions.learn(known)

    def copy_refusing(self, names: Iterable[str]) -> Self:
        """Return a copy of this backend that also omits ``names`` from its requests. Each copy learns later refusals
        separately.
        """
        twin = copy(self)
        twin.capabilities = self.capabilities.without(frozenset(names))
        return twin

    def detached_copy(self) -> Self:
        """Return a copy of this backend whose refusals and versions are not recorded in the original."""
        twin = copy(self)
        twin.versions = Versions()
        return twin

    async def _negotiate(
        self, request: JudgeRequest, frame: Frame, send: Send, *, secrets: tuple[str, ...]
    ) -> HttpReply | Refusal:
        """Send bodies from ``frame`` until the server accepts one, and return that reply or the last refusal.

        A refusal is remembered only if a request without the refused parts succeeded. So a single unexplained 400 does
        not cost a run its structured output. If llama.cpp garbles an answer, the request is sent once more. If that
        answer is garbled, too, or would be the same, this request asks for plain text. Every refusal but the last is
        reported to the request's ``on_failed_call``. Raises what ``send`` raises.
        """
        terms, garbled, refusal = Terms(self.capabilities), 0, None
        found: frozenset[str] = frozenset()
        for _ in range(_MOST_STEPS):
            body = frame(terms)
            reply = await send(body)
            if refusal is not None and request.on_failed_call is not None:
                request.on_failed_call(_stepped(refusal))
            if reply.status == 200:
                if found:
                    self._forgo(found)
                return reply
            refusal = read_refusal(reply, secrets)
            if _GARBLED.search(refusal.prose) and not terms.plain:
                garbled += 1
                terms = Terms(terms.known, terms.limit, plain=garbled > 1 or _repeats(body))
                continue
            less = step_down(refusal, body, self.names)
            if less is None:
                return refusal
            found |= less.refused
            left_out = terms.known.without(less.refused | self.capabilities.refused)
            terms = Terms(left_out, less.limit or terms.limit, plain=terms.plain)
        assert refusal is not None  # noqa: S101 - the loop ran, and every turn of it that ends here sets it
        return refusal

    def _forgo(self, found: frozenset[str]) -> None:
        """Leave out from now on what the server refused, and without which it answered."""
        if new := found - self.capabilities.refused:
            _log.info("%s at %s refuses %s: left out from now on", self.model, self.endpoint, ", ".join(sorted(new)))
            self.capabilities = self.capabilities.without(found)

    def _answered(self, completion: Completion) -> Completion:
        """Record which model version answered, and return ``completion`` unchanged."""
        if self.versions.note_answer(completion):
            _log.info(
                "%s at %s: another version of the model answers; what it refuses is found out anew",
                self.model,
                self.endpoint,
            )
            self.capabilities = Capabilities()
        return completion


def _stepped(refusal: Refusal) -> FailedCall:
    """Return the FailedCall for a refusal after which a smaller request was sent. It is free unless the server reports
    usage.
    """
    return FailedCall("bad_request", refusal.usage or Usage(cost_usd=0.0))


def _repeats(body: Mapping[str, Any]) -> bool:
    """Return whether the same request body would get the same answer again."""
    return body.get("seed") is not None or body.get("temperature") == 0


class Versions:
    """The models and versions that a judge's server reports, and what was found out about each of them.

    Safe to use from several threads and event loops.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, Mapping[str, Any]] = {}
        self._current: str | None = None
        self._heard = False
        self._changes: list[tuple[str, str]] = []
        self.strayed = False
        """True if any answer was not a JSON object, in which case another output format may help."""
        self.revision = 0
        """A number that grows with everything that becomes known about the server."""

    def note_answer(self, completion: Completion) -> bool:
        """Record which model version the judge's server answered with. Return True if this version is new and replaces
        another version.
        """
        version = completion.model or ""
        if not self.strayed and not completion.text.lstrip().startswith("{"):
            self.strayed = True
            self.revision += 1
        if completion.fingerprint:
            version = f"{version} ({completion.fingerprint})"
        if self._heard and version == self._current:
            return False
        with self._lock:
            before, self._current, self._heard = self._current, version, True
            self.revision += 1
            if version in self._found:
                return False
            self._found[version] = {}
            while len(self._found) > _MOST_VERSIONS:
                del self._found[next(iter(self._found))]
            if before is None:
                return False
            self._changes.append((before, version))
            return True

    @property
    def answering(self) -> str | None:
        """Return the model version that answered last in this run, or None before the first answer."""
        return self._current if self._heard else None

    @property
    def unknown(self) -> str | None:
        """Return the model version that answered last in this run if nothing is known about it yet, else None."""
        version = self.answering
        return version if version is not None and not self._found.get(version) else None

    @property
    def found(self) -> Mapping[str, Any]:
        """Return what was found out about the model version that answered last in this run. The result may be empty."""
        return self._found.get(self._current, {}) if self._heard and self._current is not None else {}

    def changes(self) -> list[tuple[str, str]]:
        """Return the changes of the model version behind the judge's server since the last call, as (before, now)."""
        with self._lock:
            changes, self._changes = self._changes, []
        return changes

    def store_findings(self, version: str, found: Mapping[str, Any]) -> None:
        """Store what was found out about the server's model ``version``: plain JSON, not empty."""
        with self._lock:
            self._found[version] = found
            self.revision += 1

    def learned(self) -> Mapping[str, Any]:
        """Return what is known about the server's model versions, as JSON for later runs, the latest version last.

        The form is ``{}`` or ``{"servers": {version: found}}``.
        """
        with self._lock:
            return {"servers": dict(self._found)} if self._found else {}

    def learn(self, known: Mapping[str, Any]) -> None:
        """Start with what an earlier run learned about the server's model versions. Its latest version is assumed
        until an answer differs.
        """
        servers = known.get("servers")
        if isinstance(servers, Mapping):
            with self._lock:
                self._found = {str(version): found for version, found in servers.items() if isinstance(found, Mapping)}
                self._current = next(reversed(self._found), None)
