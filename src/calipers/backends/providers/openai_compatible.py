"""Judges behind an OpenAI-compatible chat endpoint: OpenAI, vLLM, SGLang, llama.cpp, Ollama, DashScope and the rest.

Not responsible for trying again after a failure (``retry``), for bounds on what is in flight (``limit``), or for what
an answer says (``extract``): one question goes out, one answer or one error comes back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from calipers.backends.negotiation.negotiated import Capabilities, Terms
from calipers.backends.negotiation.step_down import ALTERNATIVES, BodyNames, plainer
from calipers.backends.server import HttpBackend
from calipers.backends.transport.logprobs import logprobs_in
from calipers.backends.transport.refusals import error_in_200
from calipers.backends.transport.reply import (
    HttpReply,
    Peer,
    completion,
    declined,
    json_of,
    shown,
    with_reply,
    wordless,
)
from calipers.backends.transport.secrets import scrubbed_text
from calipers.backends.transport.usage import billed
from calipers.errors import TransientError
from calipers.types import Completion, JudgeRequest
from calipers.types.encoding import EncodedDict, encodable

_NEWER_NAMES = (".openai.com", ".azure.com")

CHAT_NAMES = BodyNames(
    required=frozenset({"model", "messages"}),
    max_tokens=("max_tokens", "max_completion_tokens"),
    max_tokens_words=("maxOutputTokens", "max_output_tokens"),  # what a router passes on of Google's errors
    forms={"json_schema": "response_format.json_schema", "json_object": "response_format"},
    schema="response_format.json_schema.schema",
    strict="response_format.json_schema.strict",
    top_logprobs="top_logprobs",
    stream="stream",
)


class OpenAICompatible(HttpBackend):
    """Asks ``model`` at ``base_url`` (up to and without ``/chat/completions``), over one session per event loop.

    ``headers`` are sent along (a value of the caller's wins over ours); ``routing`` are body parameters that go with
    every question in a form; ``timeout`` is in seconds for one request; ``lists_models`` False: the server's list of
    models does not tell whether this one is there; ``capabilities`` is what was learned earlier; ``api_key_env`` is the
    variable that errors name as the key's source. Structured output and parameters a server refuses by name are stepped
    down at once, which is not a retry, and are left out from then on if that helped; a model that only streams is
    streamed. ConfigError for an address or a header that cannot work.
    """

    forms = ("json_schema", "json_object")
    names = CHAT_NAMES

    def __init__(  # noqa: PLR0913 - constructor arguments are the configuration
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        routing: Mapping[str, Any] | None = None,
        lists_models: bool = True,
        timeout: float = 120.0,
        capabilities: Capabilities | None = None,
        api_key_env: str | None = None,
    ) -> None:
        super().__init__(
            model,
            base_url=base_url,
            path="/chat/completions",
            headers=_key_headers(api_key, base_url),
            carried=headers,
            timeout=timeout,
            key_hint=api_key_env or ("OPENAI_API_KEY" if ".openai.com" in base_url else "the API key"),
            lists_models=lists_models,
            capabilities=capabilities,
        )
        self._newer_names = self.host.endswith(_NEWER_NAMES)
        self._routing = routing

    async def complete(self, request: JudgeRequest) -> Completion:
        """The model's answer; ``latency`` is this call's in seconds, stepping down included. Raises BackendError."""
        started = perf_counter()

        def frame(terms: Terms) -> dict[str, Any]:
            return chat_body(request, terms, model=self.model, newer_names=self._newer_names, routing=self._routing)

        reply = await self._accepted(request, frame)
        return self._answered(read_chat_reply(reply, self.peer, latency=perf_counter() - started))


def _key_headers(api_key: str | None, base_url: str) -> dict[str, str]:
    key = (api_key or "").strip()
    if not key:
        return {}
    headers = {"authorization": f"Bearer {key}"}
    return headers | {"api-key": key} if ".azure.com" in base_url else headers


# --- what is asked --------------------------------------------------------------------------------------------------


def chat_body(
    request: JudgeRequest,
    terms: Terms,
    *,
    model: str,
    newer_names: bool = False,
    routing: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of a chat completion that asks for all that ``terms`` allow.

    ``newer_names`` prefers ``max_completion_tokens``; ``routing`` is sent along wherever a form is asked for.
    """
    refused, limit = terms.known.refused, terms.limit
    body: dict[str, Any] = {"model": model, "messages": request.messages}
    if request.max_tokens is not None:
        names = ("max_completion_tokens", "max_tokens") if newer_names else ("max_tokens", "max_completion_tokens")
        for name in names:
            if name not in refused:
                body[name] = request.max_tokens if limit is None else min(request.max_tokens, limit)
                break
    form = None if terms.plain or request.schema is None else _response_format(request.schema, refused)
    if form is not None:
        body |= {"response_format": form, **(routing or {})}
    body |= {name: value for name, value in request.params.items() if name not in refused}
    if "top_logprobs" in body:
        _bound_alternatives(body, refused)
    if "unstreamed" in refused and "stream" not in refused:
        body["stream"] = True
    if body.get("stream") and "stream_options" not in refused:
        body.setdefault("stream_options", {"include_usage": True})
    return body


def _bound_alternatives(body: dict[str, Any], refused: frozenset[str]) -> None:
    """No more alternatives to a token than the server grants; none where it returns no log-probabilities at all."""
    if "logprobs" in refused:
        del body["top_logprobs"]
        return
    granted = (int(name.removeprefix(ALTERNATIVES)) for name in refused if name.startswith(ALTERNATIVES))
    body["top_logprobs"] = min([body["top_logprobs"], *granted])


def _response_format(schema: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any] | None:
    if "json_schema" not in refused:
        dropped = {name.removeprefix("schema.") for name in refused if name.startswith("schema.")}
        form: dict[str, Any] = {
            "name": "verdict",
            "strict": True,
            "schema": plainer(schema, dropped) if dropped else schema,
        }
        if "strict" in refused:
            del form["strict"]
        elif isinstance(form["schema"], EncodedDict):
            return EncodedDict(
                {"type": "json_schema", "json_schema": form},
                '{"type":"json_schema","json_schema":{"name":"verdict","strict":true,"schema":'
                + form["schema"].text
                + "}}",
            )
        return {"type": "json_schema", "json_schema": form}
    return None if "json_object" in refused else {"type": "json_object"}


# --- what is answered -----------------------------------------------------------------------------------------------


def read_chat_reply(reply: HttpReply, peer: Peer, *, latency: float = 0.0) -> Completion:
    """What a 200 says. Raises BackendError when it holds no answer.

    A cut answer (``length``) may be empty; one that ended by itself may not. Servers leave keys out, send null, an
    empty text, or a list of parts; put reasoning under two names; and report errors inside a 200.
    """
    body = json_of(reply, peer)
    with billed(body.get("usage")):
        return _completion(body, reply, peer, latency=latency)


def _completion(body: Mapping[str, Any], reply: HttpReply, peer: Peer, *, latency: float) -> Completion:
    error = body.get("error")
    choices = body.get("choices")
    if error:
        raise error_in_200(body, error, reply, peer)
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise TransientError("bad_reply", f"The answer has no choices: {shown(reply, peer)}")
    choice = choices[0]
    if choice.get("error"):
        raise error_in_200(choice, choice["error"], reply, peer)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise TransientError("bad_reply", f"The answer has no message: {shown(reply, peer)}")
    text, reasoning, refusal = _spoken(message)
    if peer.secrets:
        text, reasoning, refusal = (scrubbed_text(one, peer.secrets) for one in (text, reasoning, refusal))
    called = None if text.strip() or refusal else _tool_arguments(message)
    spoken = scrubbed_text(called, peer.secrets) if called else text
    finish = choice.get("finish_reason")
    answer = completion(reply, body, spoken, reasoning=reasoning, finish=finish, latency=latency)
    if called is not None:
        answer = replace(answer, text_source="tool_call")
    elif choice.get("logprobs") and len(answer.text) == len(text):  # they are found by their positions in the text
        answer = replace(answer, logprobs=logprobs_in(choice["logprobs"], text))
    if refusal or answer.finish_reason == "refused":
        own = replace(answer, text=encodable(refusal), finish_reason="refused") if refusal else None
        raise with_reply(declined(peer, refusal or text), own)
    return answer if answer.text.strip() or answer.finish_reason == "length" else _answer_in_reasoning(answer)


def _spoken(message: Mapping[str, Any]) -> tuple[str, str, str]:
    """Text, reasoning and refusal of a message; each may be empty."""
    content = message.get("content")
    reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
    refusal = message.get("refusal") or ""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        text = _joined(parts, "text")
        reasoning = reasoning or _joined(parts, "thinking")
        refusal = refusal or _joined(parts, "refusal")
    else:
        text = content if isinstance(content, str) else ""
    return text, reasoning if isinstance(reasoning, str) else "", refusal if isinstance(refusal, str) else ""


def _joined(parts: Sequence[Mapping[str, Any]], key: str) -> str:
    """The texts under ``key``; a thinking part may hold parts itself."""
    texts: list[str] = []
    for part in parts:
        value = part.get(key)
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, list):
            texts += [
                inner["text"] for inner in value if isinstance(inner, dict) and isinstance(inner.get("text"), str)
            ]
    return "".join(texts)


def _tool_arguments(message: Mapping[str, Any]) -> str | None:
    """The arguments of the only tool call: how some servers give structured answers. Empty for others, None without
    any.
    """
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return None
    if len(calls) != 1 or not isinstance(calls[0], dict):
        return ""
    function = calls[0].get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if isinstance(arguments, dict):
        return json.dumps(arguments, ensure_ascii=False)
    return arguments if isinstance(arguments, str) else ""


def _answer_in_reasoning(completion: Completion) -> Completion:
    """Some servers put the whole answer under reasoning; it counts only when it is strict JSON and ended by itself."""
    if completion.finish_reason == "stop":
        try:
            answer = json.loads(completion.reasoning)
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict):
            return replace(completion, text=completion.reasoning, reasoning="", text_source="reasoning")
    raise wordless(completion)
