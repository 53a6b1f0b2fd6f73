"""Judges that only LiteLLM can call: Bedrock, Vertex AI, Azure AI and some hundred more. LiteLLM is an optional
dependency.

LiteLLM takes seconds to import and uses twenty times the CPU of the native client per call, so it is imported only when
such a judge is made. Its answers and exceptions are converted to the reply of an HTTP server, which is then read like
any other.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any

from calipers.backends.negotiation import Negotiated, Terms
from calipers.backends.providers.openai_compatible import chat_body, read_chat_reply
from calipers.backends.transport.reply import HttpReply, Peer
from calipers.backends.transport.secrets import secret_spellings, secrets_in, without_secrets
from calipers.errors import ConfigError, TransientError
from calipers.registry import import_library
from calipers.types import Completion, JudgeRequest

_KEY_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
INSTALL = "pip install 'calipers[litellm]'"


class LiteLLM(Negotiated):
    """Sends requests to ``model``, a name as LiteLLM writes it, at ``base_url`` if given.

    The key may be in the environment. ``timeout`` is in seconds for one request; ``headers`` are added to it. Raises
    ConfigError if LiteLLM is not installed or does not know the provider.
    """

    forms = ("json_schema", "json_object")

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # otherwise it downloads one when imported
        library = import_library("litellm", remedy=f"the judge {model!r} needs LiteLLM: {INSTALL}")
        library.suppress_debug_info = True
        library.telemetry = False
        self._library = library
        try:
            self._library.get_llm_provider(model)
        except self._library.exceptions.BadRequestError as error:
            raise ConfigError(
                f"unknown provider {model.partition('/')[0]!r}: neither calipers nor LiteLLM knows it"
            ) from error
        super().__init__(model)
        self.endpoint = base_url or "litellm"
        self._options: dict[str, Any] = {"api_base": base_url, "api_key": api_key, "extra_headers": headers}
        self._options |= {"num_retries": 0, "max_retries": 0}
        self._timeout = timeout
        # Whatever may be a provider's key is removed from replies.
        keys = [held for name, held in os.environ.items() if name.upper().endswith(_KEY_ENDINGS)]
        secrets = secret_spellings([api_key or "", *keys, *secrets_in(headers or {})])
        self.peer = Peer(model, "the provider's key", secrets)

    def body(self, request: JudgeRequest, terms: Terms) -> dict[str, Any]:
        """Return a chat completion request, as LiteLLM's arguments."""
        return chat_body(request, terms, model=self.model)

    def read(self, _: JudgeRequest, reply: HttpReply) -> Completion:
        """Return the Completion in a provider's reply. Raises BackendError if there is none."""
        return read_chat_reply(reply, self.peer)

    async def send(self, body: Mapping[str, Any]) -> HttpReply:
        """Send a request through LiteLLM and return an HTTP reply. No other code translates LiteLLM's exceptions."""
        call = {**body, "messages": [dict(message) for message in body["messages"]]}
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._library.acompletion(**call, **self._options, timeout=self._timeout)
                if body.get("stream"):
                    answer = self._library.stream_chunk_builder([chunk async for chunk in answer])
        except TimeoutError as error:
            raise TransientError("timeout", f"{self.model} gave no whole answer within {self._timeout:g} s.") from error
        except Exception as error:  # noqa: BLE001 - a hundred providers' libraries raise through it, each in its own way
            return _error_reply(error)
        data = json.dumps(answer.model_dump(mode="json")).encode()
        secrets = [secret.encode() for secret in self.peer.secrets]
        return HttpReply(200, {"Content-Type": "application/json"}, without_secrets(data, secrets))


def _error_reply(error: Exception) -> HttpReply:
    """Return LiteLLM's exception as a server's error reply. Without a status, it is a temporary failure (500)."""
    status = getattr(error, "status_code", None)
    headers = getattr(getattr(error, "response", None), "headers", None)
    body = {"error": {"message": str(error), "param": getattr(error, "param", None)}}
    code = status if isinstance(status, int) and 400 <= status < 600 else 500
    return HttpReply(code, {} if headers is None else headers, json.dumps(body).encode())
