"""What all backends around a backend have in common."""

from __future__ import annotations

from calipers.interfaces import Backend, FullBackend, full
from calipers.types import Completion, JudgeRequest


class Wrapper(FullBackend):
    """A backend around ``backend``, under the same name. What else the inner one can do is asked of the inner one."""

    def __init__(self, backend: Backend) -> None:
        self._backend = full(backend)
        self.endpoint = backend.endpoint
        self.model = backend.model


class HoldingWrapper(Wrapper):
    """One that counts a call as in flight until its answer is on record: it implements ``complete_recorded``."""

    async def complete(self, request: JudgeRequest) -> Completion:
        """The answer. Raises what the backend raises."""
        return await self.complete_recorded(request, _as_it_is)


async def _as_it_is(completion: Completion) -> Completion:
    return completion
