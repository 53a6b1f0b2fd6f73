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
from importlib import import_module
from time import perf_counter
from typing import Any

from calipers.backends.negotiation import Negotiated, Terms
from calipers.backends.providers.openai_compatible import chat_body, read_chat_reply
from calipers.backends.transport.refusals import Refusal, refusal_error
from calipers.backends.transport.reply import HttpReply, Peer
from calipers.backends.transport.secrets import secret_spellings, without_secrets
from calipers.errors import ConfigError, TransientError
from calipers.types import Completion, JudgeRequest

_KEY_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
INSTALL = (
    "pip install 'calipers[litellm]' (it refuses LiteLLM 1.82.7 and 1.82.8, which were published by thieves and send "
    "your keys away)"
)


class LiteLLM(Negotiated):
    """Sends requests to ``model``, a name as LiteLLM writes it, at ``base_url`` if given.

    The key may be in the environment. ``timeout`` is in seconds for one request. Raises ConfigError if LiteLLM is not
    installed or does not know the provider.
    """

    forms = ("json_schema", "json_object")

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
    ) -> None:
        self._library = _library(model)
        try:
            self._library.get_llm_provider(model)
        except self._library.exceptions.BadRequestError as error:
            raise ConfigError(
                f"unknown provider {model.partition('/')[0]!r}: neither calipers nor LiteLLM knows it"
            ) from error
        super().__init__(model)
        self.endpoint = base_url or "litellm"
        self._options = {"api_base": base_url, "api_key": api_key}
        self._timeout = timeout
        # Whatever may be a provider's key is removed from replies.
        keys = [held for name, held in os.environ.items() if name.upper().endswith(_KEY_ENDINGS) and len(held) >= 8]
        self._peer = Peer(model, "the provider's key", secret_spellings([api_key or "", *keys]))

    async def check(self) -> list[str]:
        """Return a warning if a variable that LiteLLM needs for this provider is not set. No server is contacted."""
        if self._options["api_key"] is not None:
            return []
        missing = self._library.validate_environment(self.model).get("missing_keys") or []
        return [f"LiteLLM finds no {' or '.join(missing)} for {self.model}."] if missing else []

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the answer of the judge's provider through LiteLLM; ``latency`` is in seconds, including repeats.
        Raises BackendError.
        """
        started = perf_counter()

        def frame(terms: Terms) -> dict[str, Any]:
            return chat_body(request, terms, model=self.model)

        settled = await self._negotiate(request, frame, self._send, secrets=self._peer.secrets)
        if isinstance(settled, Refusal):
            raise refusal_error(settled, self._peer)
        return self._answered(read_chat_reply(settled, self._peer, latency=perf_counter() - started))

    async def _send(self, body: Mapping[str, Any]) -> HttpReply:
        """Send a request through LiteLLM and return an HTTP reply. No other code translates LiteLLM's exceptions."""
        call = {**body, "messages": [dict(message) for message in body["messages"]]}
        try:
            async with asyncio.timeout(self._timeout):
                said = await self._library.acompletion(
                    **call, **self._options, timeout=self._timeout, num_retries=0, max_retries=0
                )
                if body.get("stream"):
                    said = self._library.stream_chunk_builder([chunk async for chunk in said])
        except TimeoutError as error:
            raise TransientError("timeout", f"{self.model} gave no whole answer within {self._timeout:g} s.") from error
        except Exception as error:  # noqa: BLE001 - a hundred providers' libraries raise through it, each in its own way
            return _error_reply(error)
        secrets = [secret.encode() for secret in self._peer.secrets]
        return HttpReply(200, {"Content-Type": "application/json"}, without_secrets(_completion_json(said), secrets))


def _library(model: str) -> Any:
    """Return the LiteLLM module, with its console messages and its network access at import turned off."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    library: Any
    try:
        library = import_module("litellm")
    except ImportError as error:
        raise ConfigError(f"the judge {model!r} needs LiteLLM: {INSTALL}") from error
    library.suppress_debug_info = True
    library.telemetry = False
    return library


def _error_reply(error: Exception) -> HttpReply:
    """Return LiteLLM's exception as a server's error reply. Without a status, it is a temporary failure (500)."""
    status = getattr(error, "status_code", None)
    headers = getattr(getattr(error, "response", None), "headers", None)
    body = {"error": {"message": str(error), "param": getattr(error, "param", None)}}
    code = status if isinstance(status, int) and 400 <= status < 600 else 500
    return HttpReply(code, {} if headers is None else headers, json.dumps(body).encode())


def _completion_json(said: Any) -> bytes:
    """Return the JSON of LiteLLM's completion, with the price of the call if LiteLLM knows it."""
    body: dict[str, Any] = said.model_dump(mode="json")
    for choice in body.get("choices") or ():
        message = choice.get("message") or {}
        message.setdefault("refusal", (message.get("provider_specific_fields") or {}).get("refusal"))
    cost = getattr(said, "_hidden_params", {}).get("response_cost")
    if isinstance(body.get("usage"), dict) and isinstance(cost, float):
        body["usage"].setdefault("cost", cost)
    return json.dumps(body).encode()
