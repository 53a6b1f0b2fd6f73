"""A backend for who wants whatever a model says, and not an answer of a certain kind: nothing said is said, too.

A judge's empty reply is no judgment and is asked for again; a policy's empty response is its response. It stands inside
whatever tries again. Not responsible for what a response is counted as (``sampling``).
"""

from __future__ import annotations

from dataclasses import replace

from calipers.backends.limits.wrapper import Wrapper
from calipers.errors import BackendError
from calipers.types import Completion, JudgeRequest


class AsSaid(Wrapper):
    """``backend``, with the message's own text for every whole reply: empty, blank, a tool's call or a refusal in words.

    What the provider withheld (its filter), and a reply that may have been broken off, stay errors.
    """

    async def complete(self, request: JudgeRequest) -> Completion:
        """What the model said. Raises what the backend raises."""
        try:
            completion = await self._backend.complete(request)
        except BackendError as error:
            if error.completion is None:
                raise
            completion = error.completion
        match completion.text_source:
            case "tool_call":
                return replace(completion, text="")
            case "reasoning":
                return replace(completion, text="", reasoning=completion.text)
        return completion
