"""What judges behind one HTTP endpoint have in common: an address, what it is known to refuse, a check beforehand.

Not responsible for the API spoken there: a backend frames a body and reads an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calipers.backends.endpoint import Endpoint
from calipers.backends.negotiate import Capabilities, step_down
from calipers.backends.negotiator import Frame, Negotiator, StepDown
from calipers.backends.translate import HttpReply, Refusal


class Served:
    """``model`` behind ``at``. What is refused by name is left out at once, which is not a retry, and from then on."""

    def __init__(self, model: str, at: Endpoint, *, capabilities: Capabilities | None = None) -> None:
        self.model = model
        self.endpoint = at.url
        self._at = at
        self._negotiator = Negotiator(capabilities)

    @property
    def capabilities(self) -> Capabilities:
        """What this endpoint is known to refuse; grows while questions are asked."""
        return self._negotiator.known

    def learned(self) -> Mapping[str, Any]:
        """The same as plain JSON, for the ledger."""
        return self._negotiator.known.to_dict()

    def learn(self, known: Mapping[str, Any]) -> None:
        """Take up what an earlier run learned."""
        self._negotiator.take_up(known)

    @property
    def context_window(self) -> int | None:
        """Tokens that fit the model at once, where ``check`` was told; None where it is not known."""
        return self._at.context_window

    async def models(self) -> HttpReply:
        """The server's list of models as it comes, whatever its status. Raises BackendError when no answer came."""
        return await self._at.models()

    async def check(self) -> list[str]:
        """Ask what the server offers, without a token spent: warnings, or ConfigError when no question can succeed."""
        return await self._at.check()

    async def aclose(self) -> None:
        """Close the running loop's connections. Never needed for tidiness: loops close them as they end."""
        await self._at.aclose()

    async def _accepted(self, frame: Frame, step: StepDown = step_down) -> HttpReply:
        """The first 200 to what ``frame`` writes. Raises BackendError."""
        settled = await self._negotiator.settle(frame, self._at.post, secrets=self._at.peer.secrets, step=step)
        if isinstance(settled, Refusal):
            raise await self._at.error(settled)
        return settled
