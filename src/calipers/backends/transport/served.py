"""What judges behind a server have in common: what it is known to refuse, who answers there, a check beforehand.

Not responsible for the API spoken there: a backend frames a body and reads an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any, ClassVar, Self

from calipers.backends.negotiation.form_question import Form
from calipers.backends.negotiation.negotiate import Capabilities, step_down
from calipers.backends.negotiation.negotiator import Frame, Negotiator, StepDown
from calipers.backends.negotiation.standing import Standing
from calipers.backends.transport.endpoint import Endpoint
from calipers.backends.transport.translate import HttpReply, Refusal
from calipers.interfaces import FullBackend
from calipers.types import Completion, JudgeRequest


class Negotiated(FullBackend):
    """``model`` somewhere that refuses some of what it is asked for. What it refuses by name is left out at once, which
    is not a retry, and from then on; somebody else in its place is asked for everything again.

    ``forms`` are the structured outputs that may be asked for there, the best first.
    """

    forms: ClassVar[tuple[Form, ...]] = ()
    unlisted: str | None = None
    """What the server's list of models says against this one, once ``check`` has looked."""

    def __init__(self, model: str, *, capabilities: Capabilities | None = None) -> None:
        self.model = model
        self.standing = Standing()
        self._negotiator = Negotiator(capabilities)

    @property
    def capabilities(self) -> Capabilities:
        """What this endpoint is known to refuse; grows while questions are asked."""
        return self._negotiator.known

    def learned(self) -> Mapping[str, Any]:
        """What is refused, and who answered, as plain JSON for the ledger."""
        return {**self._negotiator.known.to_dict(), **self.standing.learned()}

    def learn(self, known: Mapping[str, Any]) -> None:
        """Take up what an earlier run learned."""
        self._negotiator.take_up(known)
        self.standing.take_up(known)

    def refusing(self, names: Iterable[str]) -> Self:
        """The same, but taken to refuse ``names``, too; what either learns from now on is its own."""
        twin = copy(self)
        twin._negotiator = Negotiator(self.capabilities.without(frozenset(names)))  # noqa: SLF001 - its own
        return twin

    def aside(self) -> Self:
        """The same, for a question that teaches nothing: neither what is refused nor who answers."""
        twin = self.refusing(())
        twin.standing = Standing()
        return twin

    def _heard(self, completion: Completion) -> Completion:
        """``completion``, once it is known who gave it."""
        if self.standing.saw(completion):
            self._negotiator.forget()
        return completion


class Served(Negotiated):
    """``model`` behind ``at``, one path of an HTTP server."""

    def __init__(self, model: str, at: Endpoint, *, capabilities: Capabilities | None = None) -> None:
        super().__init__(model, capabilities=capabilities)
        self.endpoint = at.url
        self._at = at

    async def models(self) -> HttpReply:
        """The server's list of models as it comes, whatever its status. Raises BackendError when no answer came."""
        return await self._at.models()

    async def check(self) -> list[str]:
        """Ask what the server offers, without a token spent: warnings, or ConfigError when no question can succeed."""
        found, self.unlisted = await self._at.check()
        self.context_window = self._at.context_window
        return found if self.unlisted is None else [*found, self.unlisted]

    async def aclose(self) -> None:
        """Close the running loop's connections. Never needed for tidiness: loops close them as they end."""
        await self._at.aclose()

    async def _accepted(self, request: JudgeRequest, frame: Frame, step: StepDown = step_down) -> HttpReply:
        """The first 200 to what ``frame`` writes of ``request``. Raises BackendError."""
        secrets = self._at.peer.secrets
        settled = await self._negotiator.settle(
            frame, self._at.post, secrets=secrets, step=step, on_failed_call=request.on_failed_call
        )
        if isinstance(settled, Refusal):
            raise await self._at.error(settled)
        return settled
