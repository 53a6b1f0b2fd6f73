"""The base classes of all wrappers around a backend."""

from __future__ import annotations

from calipers.interfaces import Backend, FullBackend, full
from calipers.types import Completion, JudgeRequest


class Wrapper(FullBackend):
    """A backend around ``backend``, with its endpoint and model, and without its optional abilities."""

    def __init__(self, backend: Backend) -> None:
        self._backend = full(backend)
        self.endpoint = backend.endpoint
        self.model = backend.model


class HoldingWrapper(Wrapper):
    """A wrapper whose call lasts until the answer is recorded. Subclasses implement ``complete_recorded``."""

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the backend's answer without recording it. Raises what the backend raises."""
        return await self.complete_recorded(request, _as_it_is)


async def _as_it_is(completion: Completion) -> Completion:
    return completion
