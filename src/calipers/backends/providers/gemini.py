"""Judges behind Google's Gemini API: ``models.generateContent``, without streaming.

The tests compare the field names with the types of Google's own SDK. Not responsible for retries and limits
(``limits``), or for what an answer means (``replies``).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from mimetypes import guess_type
from time import perf_counter
from typing import Any, Final
from urllib.parse import unquote_to_bytes, urlsplit

from calipers.backends.negotiation.negotiated import Capabilities, Terms
from calipers.backends.negotiation.step_down import ALTERNATIVES, BodyNames, schema_without
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.backends.server import HttpBackend
from calipers.backends.transport.logprobs import logprobs_in
from calipers.backends.transport.refusals import error_in_200
from calipers.backends.transport.reply import (
    HttpReply,
    Peer,
    completion,
    declined_error,
    empty_reply_error,
    reply_excerpt,
    reply_json,
)
from calipers.backends.transport.usage import attach_usage
from calipers.errors import TransientError
from calipers.types import Completion, JudgeRequest, Message
from calipers.types.encoding import to_json

_UNKNOWN_TO_SCHEMAS: Final = frozenset({"pattern", "minLength", "maxLength"})
"""Keywords of our schemas that ``responseJsonSchema`` does not accept."""

_BLOCKED: Final = frozenset(
    {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"}
)
"""Finish reasons of answers that the API stopped because of their content."""

_TRANSLATED: Final = {
    "frequency_penalty": "frequencyPenalty",
    "logprobs": "responseLogprobs",
    "presence_penalty": "presencePenalty",
    "stop": "stopSequences",
    "top_k": "topK",
    "top_logprobs": "logprobs",
    "top_p": "topP",
}
"""Names of parameters in chat completions, and Gemini's names for them."""
_TOP: Final = frozenset({"cachedContent", "labels", "safetySettings", "serviceTier", "store", "toolConfig", "tools"})
"""Parameters at the top of a request body; all others are part of ``generationConfig``."""


def gemini(model: str, *, base_url: str, **options: Any) -> Gemini | OpenAICompatible:
    """Return the backend for ``model``: chat completions if the address ends in ``/openai``, else Gemini's API."""
    if urlsplit(base_url).path.rstrip("/").endswith("/openai"):
        return OpenAICompatible(model, base_url=base_url, **options)
    return Gemini(model, base_url=base_url, **options)


class Gemini(HttpBackend):
    """Sends requests to ``model`` at ``base_url`` (with or without ``/v1beta``), over one session per event loop.

    The schema is sent as ``responseJsonSchema``, without the keywords that it does not accept. Parameters are given by
    the API's names or by those of chat completions: ``temperature``, ``top_p``, ``thinkingConfig``, ``safetySettings``.
    ``timeout`` is in seconds for one request; ``api_key_env`` is the variable that errors name. Raises ConfigError for
    an address or a header that cannot work.
    """

    forms = ("json_schema", "json_object")
    names = BodyNames(
        required=frozenset({"contents", "systemInstruction"}),
        max_tokens=("generationConfig.maxOutputTokens",),
        max_tokens_words=("max_output_tokens",),
        forms={
            "json_schema": "generationConfig.responseJsonSchema",
            "json_object": "generationConfig.responseMimeType",
        },
        schema="generationConfig.responseJsonSchema",
        top_logprobs="generationConfig.logprobs",
        parameters="generationConfig",
    )

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        capabilities: Capabilities | None = None,
        api_key_env: str | None = None,
    ) -> None:
        key = (api_key or "").strip()
        root = base_url.strip().rstrip("/")
        self._resource = model if "/" in model else f"models/{model}"
        super().__init__(
            model,
            base_url=root if urlsplit(root).path.strip("/") else f"{root}/v1beta",
            path=f"/{self._resource}:generateContent",
            headers={"x-goog-api-key": key} if key else {},
            carried=headers,
            timeout=timeout,
            key_hint=api_key_env or "GEMINI_API_KEY",
            capabilities=capabilities,
        )

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the answer of Gemini's API; ``latency`` is in seconds, including repeats after refusals. Raises
        BackendError.
        """
        started = perf_counter()
        contents = [_content(message) for message in request.messages if message["role"] != "system"]
        system = [part for message in request.messages if message["role"] == "system" for part in _parts(message)]

        def frame(terms: Terms) -> dict[str, Any]:
            instruction = {"systemInstruction": {"parts": system}} if system else {}
            return {**instruction, "contents": contents, **_asked(request, terms)}

        reply = await self._accepted(request, frame)
        return self._answered(read_content(reply, self.peer, latency=perf_counter() - started))

    async def models(self) -> HttpReply:
        """Return a list with this model and its context window, or the server's list of models if it does not have this
        model.
        """
        one = await self._http().request("GET", f"/{self._resource}")
        if one.status == 404:
            listed = await self._http().request("GET", "/models")
            return HttpReply(listed.status, listed.headers, _as_model_list(listed, self.peer, key="models"))
        return HttpReply(one.status, one.headers, _as_model_list(one, self.peer, key=None, name=self.model))


def _asked(request: JudgeRequest, terms: Terms) -> dict[str, Any]:
    """Return the body's token limit, output format and parameters, without those that the server refuses."""
    refused = terms.known.refused
    params = {_TRANSLATED.get(name, name): value for name, value in request.params.items()}
    config: dict[str, Any] = dict(params.pop("generationConfig", {}))
    config |= {name: value for name, value in params.items() if name not in refused | _TOP}
    if config.get("responseLogprobs") is None or "logprobs" in refused:
        config.pop("responseLogprobs", None)
        config.pop("logprobs", None)
    elif "logprobs" in config:
        granted = (int(name.removeprefix(ALTERNATIVES)) for name in refused if name.startswith(ALTERNATIVES))
        config["logprobs"] = min([config["logprobs"], *granted])
    if isinstance(config.get("stopSequences"), str):
        config["stopSequences"] = [config["stopSequences"]]
    if request.max_tokens is not None and "maxOutputTokens" not in refused:
        limits = (request.max_tokens, terms.limit)
        config["maxOutputTokens"] = min(one for one in limits if one is not None)
    if request.schema is not None and not terms.plain and "json_object" not in refused:
        config["responseMimeType"] = "application/json"
        if "json_schema" not in refused:
            dropped = {name.removeprefix("schema.") for name in refused if name.startswith("schema.")}
            config["responseJsonSchema"] = schema_without(request.schema, _UNKNOWN_TO_SCHEMAS | dropped)
    top = {name: value for name, value in params.items() if name in _TOP and name not in refused}
    return {**top, "generationConfig": config} if config else top


def _content(message: Message) -> dict[str, Any]:
    return {"role": "model" if message["role"] == "assistant" else "user", "parts": list(_parts(message))}


def _parts(message: Message) -> Iterator[dict[str, Any]]:
    content = message["content"]
    for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if part.get("type") != "image_url":
            yield {"text": part["text"]}
            continue
        url = part["image_url"]["url"]
        if not url.startswith("data:"):
            yield {"fileData": {"fileUri": url, "mimeType": guess_type(url)[0] or "image/png"}}
            continue
        kind, _, data = url.removeprefix("data:").partition(",")
        mime_type, *options = kind.split(";")
        if "base64" not in options:
            data = b64encode(unquote_to_bytes(data)).decode()
        yield {"inlineData": {"mimeType": mime_type or "image/png", "data": data}}


def read_content(reply: HttpReply, peer: Peer, *, latency: float = 0.0) -> Completion:
    """Return the Completion in a 200 reply of Gemini's API, with thoughts separate from text.

    Raises BackendError if the reply holds no answer.
    """
    body = reply_json(reply, peer)
    usage = _usage(body.get("usageMetadata"))
    with attach_usage(usage):
        return _completion({"usage": usage, "model": body.get("modelVersion")}, body, reply, peer, latency=latency)


def _completion(
    told: Mapping[str, Any], body: Mapping[str, Any], reply: HttpReply, peer: Peer, *, latency: float
) -> Completion:
    if body.get("error"):
        raise error_in_200(body, body.get("error"), reply, peer)
    candidates = _dicts(body.get("candidates"))
    if not candidates:
        feedback = body.get("promptFeedback")
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            raise declined_error(
                peer, f"the prompt was blocked ({_why(feedback, 'blockReason', 'blockReasonMessage')})"
            )
        raise TransientError("bad_reply", f"The answer has no candidates: {reply_excerpt(reply, peer)}")
    candidate = candidates[0]
    if candidate.get("finishReason") in _BLOCKED:
        raise declined_error(peer, f"the answer was blocked ({_why(candidate, 'finishReason', 'finishMessage')})")
    content = candidate.get("content")
    parts = _dicts(content.get("parts")) if isinstance(content, dict) else []
    text, thoughts = (_joined(parts, thought=thought) for thought in (False, True))
    answer = completion(
        reply,
        told,
        text,
        reasoning=thoughts,
        finish=candidate.get("finishReason"),
        latency=latency,
    )
    if len(answer.text) == len(text):  # log-probabilities are found by their positions in the text
        answer = replace(answer, logprobs=logprobs_in(_as_rows(candidate.get("logprobsResult")), text))
    if not text.strip() and answer.finish_reason != "length":
        raise empty_reply_error(answer)
    return answer


def _joined(parts: Iterable[Mapping[str, Any]], *, thought: bool) -> str:
    texts = (part.get("text") for part in parts if (part.get("thought") is True) is thought)
    return "".join(text for text in texts if isinstance(text, str))


def _why(holder: Mapping[str, Any], *names: str) -> str:
    """Return why Gemini blocked the answer: the reason, its explanation, and the categories of harm."""
    said = [str(holder[name]) for name in names if holder.get(name)]
    blocking = [row for row in _dicts(holder.get("safetyRatings")) if row.get("blocked")]
    return "; ".join([*said, *(str(row.get("category")) for row in blocking)])


def _usage(told: object) -> dict[str, Any] | None:
    """Return Gemini's token counts under the names of chat completions.

    Tokens of thoughts count as output, and tokens of tool results as input.
    """
    if not isinstance(told, dict):
        return None
    names = ("promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    prompt, tools, answer, thoughts = (told.get(name) for name in names)
    return {
        "prompt_tokens": _sum(prompt, tools),
        "completion_tokens": _sum(answer, thoughts),
        "total_tokens": told.get("totalTokenCount"),
        "prompt_tokens_details": {"cached_tokens": told.get("cachedContentTokenCount")},
    }


def _sum(count: object, more: object) -> object:
    """Return the sum of two of Gemini's token counts. A missing count is 0; without any, ``count`` is returned."""
    counts = [one for one in (count, more) if isinstance(one, int)]
    return sum(counts) if counts else count


def _as_rows(result: object) -> dict[str, Any] | None:
    """Return Gemini's ``logprobsResult`` in the form of chat completions: a row per token, with its alternatives."""
    if not isinstance(result, dict):
        return None
    chosen, top = _dicts(result.get("chosenCandidates")), _dicts(result.get("topCandidates"))
    alternatives = [_dicts(one.get("candidates")) for one in top]
    rows = [_row(one) for one in chosen]
    for row, others in zip(rows, alternatives, strict=False):
        row["top_logprobs"] = [_row(other) for other in others]
    return {"content": rows}


def _row(candidate: Mapping[str, Any]) -> dict[str, Any]:
    return {"token": candidate.get("token"), "logprob": candidate.get("logProbability")}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _as_model_list(reply: HttpReply, peer: Peer, *, key: str | None, name: str | None = None) -> bytes:
    """Return Gemini's reply about one model, or about several, in the form of chat completions' list of models.

    Any other body is returned unchanged.
    """
    if reply.status != 200:
        return reply.body
    body = reply_json(reply, peer)
    rows = [body] if key is None else _dicts(body.get(key))
    listed = [{"id": name or row.get("name"), "context_window": row.get("inputTokenLimit")} for row in rows]
    return to_json({"data": listed}) if rows else reply.body
