"""Finds the model that generates responses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from calipers.backends.connect import find_backend
from calipers.backends.limits.limited import Limited, Wrapper
from calipers.backends.limits.pool import Pool
from calipers.backends.names import url_without_password, writes_text
from calipers.backends.providers.known import nearest_provider, provider_of, request_target
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import BackendError, ConfigError
from calipers.interfaces import Backend
from calipers.types import Completion, JudgeRequest


async def find_model(
    model: str | None,
    *,
    base_url: Sequence[str] = (),
    seconds: float = 600.0,
    price: Sequence[float] | None = None,
) -> tuple[Backend, list[str]]:
    """Return the backend for the model that generates responses, and its warnings. The check spends no tokens.

    ``provider/model`` is a provider's model. With ``base_url``, any other name is sent unchanged, and no name means the
    server's only model. The key is the provider's in the environment.

    ``seconds`` limits a request. ``price`` is in US dollars per million tokens, as in Judge. Raises ConfigError with
    the remedy if there is no such model.
    """
    if model is None and not base_url:
        raise ConfigError("name a model with --model, or a server with --base-url")
    if model is not None and (not writes_text(model) or model.startswith("replay:")):
        raise ConfigError(f"{model!r} is a judge that cannot generate text: name a model, as in openai/gpt-5-mini")
    if not base_url and model is not None and not (_is_provided(model) or model.startswith("litellm/")):
        provider, slash, rest = model.partition("/")
        near = nearest_provider(provider) if slash else None
        hint = "" if near is None else f"; did you mean {near}/{rest}?"
        raise ConfigError(
            f"{model!r} does not have the form provider/model, such as openai/gpt-5-mini; for your own server give "
            f"--base-url too{hint}"
        )
    name = model or await _only_model(base_url[0], seconds)
    if base_url and not _is_provided(name):
        name = f"vllm/{name}"
    backends = [find_backend(name, base_url=url, api_key=None, timeout=seconds) for url in base_url or (None,)]
    servers = [AcceptAnyReply(backend) for backend in backends]
    asked = Limited(
        servers[0] if len(servers) == 1 else Pool(servers),
        attempts=5,
        concurrency=None,
        price=price,
        pauses=False,
    )
    return asked, list(await asked.check())


def address_of(model: str | None, *, base_url: Sequence[str]) -> str | None:
    """Return the address of the model that generates responses; None if it runs in this process. Nothing is sent.

    Raises ConfigError if neither a model nor a server is named.
    """
    if model is None and not base_url:
        raise ConfigError("name a model with --model, or a server with --base-url")
    if base_url:
        return base_url[0]
    known = None if model is None else provider_of(model)
    if known is None:
        return None
    return request_target(known, base_url=None, api_key="none").url


def _is_provided(model: str) -> bool:
    return model.startswith("scripted:") or provider_of(model) is not None


async def _only_model(base_url: str, seconds: float) -> str:
    """Return the name of a server's only model. Raises ConfigError if it has none or several, or cannot be asked."""
    key = request_target("vllm", base_url=base_url, api_key=None).key
    timeout = min(seconds, 30.0)
    server = OpenAICompatible("?", base_url=base_url, api_key=key, timeout=timeout, api_key_env="VLLM_API_KEY")
    try:
        await server.check()
        reply = await server.models()
        listed = json.loads(reply.body if reply.status == 200 else "null").get("data", [])
        names = [row["id"] for row in listed]
    except (BackendError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f" ({error})" if isinstance(error, BackendError) else ""  # other errors are of the reply's form
        where = url_without_password(base_url)
        raise ConfigError(f"{where} lists no models{why}: name one with --model, or correct --base-url") from None
    finally:
        await server.aclose()
    if len(names) != 1:
        shown = ", ".join(map(str, names[:5])) or "none"
        raise ConfigError(f"{url_without_password(base_url)} has {len(names)} models ({shown}): name one with --model")
    return str(names[0])


class AcceptAnyReply(Wrapper):
    """Calls ``backend``, inside retries, and returns the text of every complete reply: an empty one, a tool call, a
    refusal in words.

    An empty reply of a judge is no judgment; an empty response of a policy is its response. What the provider's filter
    withheld, and replies that may be incomplete, stay errors.
    """

    async def check(self) -> Sequence[str]:
        """Return the warnings of the backend's own check. Raises ConfigError when the server cannot be reached."""
        return await self._backend.check()

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
