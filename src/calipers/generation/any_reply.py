"""A backend wrapper for generation that accepts every complete reply, even an empty reply.

An empty reply of a judge is not a judgment, so the judge is asked again. An empty response of a policy is its response.
The wrapper belongs inside retries. Not responsible for how a response is classified (``sampling``).
"""

from __future__ import annotations

from dataclasses import replace

from calipers.backends.limits.wrapper import Wrapper
from calipers.errors import BackendError
from calipers.types import Completion, JudgeRequest


class AcceptAnyReply(Wrapper):
    """Calls ``backend`` and returns the text of every complete reply, even if it is empty, a tool call or a refusal in
    words.

    Replies that the provider's filter withheld, and replies that may be incomplete, stay errors.
    """

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the complete reply of the model that generates responses. Raises what the backend raises."""
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
