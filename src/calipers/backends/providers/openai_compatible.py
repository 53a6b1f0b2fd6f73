"""Judges behind an OpenAI-compatible chat endpoint: OpenAI, vLLM, SGLang, llama.cpp, Ollama, DashScope and others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.backends.negotiation import Terms
from calipers.backends.server import HttpBackend
from calipers.backends.transport.logprobs import logprobs_in
from calipers.backends.transport.refusals import require_no_error
from calipers.backends.transport.reply import (
    HttpReply,
    Peer,
    attach_usage,
    completion,
    declined_error,
    empty_reply_error,
    finish_reason_of,
    reply_excerpt,
    reply_json,
)
from calipers.backends.transport.secrets import text_without_secrets
from calipers.errors import TransientError
from calipers.types import Completion, JudgeRequest, ToolCall, text_of_calls
from calipers.types.encoding import EncodedDict, objects_in, without_lone_surrogates

_NEWER_NAMES = (".openai.com", ".azure.com")


class OpenAICompatible(HttpBackend):
    """Judges at ``base_url``, which is without ``/chat/completions``.

    Structured output and parameters that the server refuses by name are left out at once, which is not a retry, and in
    later requests if that helped. A model that only streams is streamed.
    """

    path = "/chat/completions"
    forms = ("json_schema", "json_object")
    has_tools = True

    def body(self, request: JudgeRequest, terms: Terms) -> dict[str, Any]:
        """Return the body of a chat completion request."""
        newer = self.host.endswith(_NEWER_NAMES)
        return chat_body(request, terms, model=self.model, newer_names=newer, routing=self._routing)

    def read(self, request: JudgeRequest, reply: HttpReply) -> Completion:
        """Return the Completion in a server's reply. Raises BackendError if there is none."""
        return read_chat_reply(reply, self.peer, may_call=bool(request.tools))


# --- the request ------------------------------------------------------------------------------------------------------


def chat_body(
    request: JudgeRequest,
    terms: Terms,
    *,
    model: str,
    newer_names: bool = False,
    routing: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the body of a chat completion request to a judge's server that asks for everything that ``terms`` allow.

    ``newer_names`` prefers the field ``max_completion_tokens``. ``routing`` is added to requests with structured
    output.
    """
    refused, limit = terms.refused, terms.limit
    body: dict[str, Any] = {"model": model, "messages": request.messages}
    if request.tools:
        body["tools"] = request.tools
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
    if "logprobs" in refused:
        body.pop("top_logprobs", None)
    if "unstreamed" in refused and "stream" not in refused:
        body["stream"] = True
    if body.get("stream") and "stream_options" not in refused:
        body.setdefault("stream_options", {"include_usage": True})
    return body


def _response_format(schema: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any] | None:
    if "json_schema" in refused:
        return None if "json_object" in refused else {"type": "json_object"}
    form = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}
    if not isinstance(schema, EncodedDict):
        return form
    head = '{"type":"json_schema","json_schema":{"name":"verdict","strict":true,"schema":'
    return EncodedDict(form, f"{head}{schema.text}}}}}")


# --- the reply --------------------------------------------------------------------------------------------------------


def read_chat_reply(reply: HttpReply, peer: Peer, *, may_call: bool = False) -> Completion:
    """Return the Completion in a 200 reply of a server's chat endpoint. Raises BackendError if the reply holds no
    answer.

    An answer that was cut off (``length``) may be empty. An answer that ended normally may not. Servers differ: they
    omit keys, send null, an empty text or a list of parts, use two names for reasoning, and report errors inside a 200.
    ``may_call`` says that the request offered tools; otherwise a tool call is an answer in another form.
    """
    body = reply_json(reply, peer)
    with attach_usage(body.get("usage")):
        choice, message = _choice_and_message(body, reply, peer)
        text, reasoning, refusal = (
            text_without_secrets(part, peer.secrets) for part in _text_reasoning_refusal(message)
        )
        ends = {"finish": choice.get("finish_reason"), "native": choice.get("native_finish_reason")}
        calls = _tool_calls(message)
        if may_call and not refusal and calls:
            asked = text_without_secrets(text_of_calls(calls, said=text), peer.secrets)
            answer = completion(reply, body, asked, reasoning=reasoning, **ends)
            return replace(answer, finish_reason="tool_calls")
        # Some servers give a structured answer as the reply's only tool call.
        is_called = not text.strip() and not refusal and len(calls) == 1 and calls[0].arguments != "{}"
        answer_text = text_without_secrets(calls[0].arguments, peer.secrets) if is_called else text
        answer = completion(reply, body, answer_text, reasoning=reasoning, **ends)
        if is_called:
            answer = replace(answer, text_source="tool_call")
        elif choice.get("logprobs") and len(answer.text) == len(text):  # they are found by their positions in the text
            answer = replace(answer, logprobs=logprobs_in(choice["logprobs"], text))
        if refusal or answer.finish_reason == "refused":
            refused = (
                replace(answer, text=without_lone_surrogates(refusal), finish_reason="refused") if refusal else None
            )
            reasons = ", ".join(f"{reason!r:.80}" for reason in ends.values() if reason)
            raise declined_error(peer, refusal or f"finish reason {reasons}", reply=refused)
        return answer if answer.text.strip() or answer.finish_reason == "length" else _answer_in_reasoning(answer)


def _choice_and_message(
    body: Mapping[str, Any], reply: HttpReply, peer: Peer
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return a chat reply's choice of index 0, or its first, and its message. Raises BackendError if it has none."""
    choice = min(objects_in(body.get("choices")), key=lambda row: bool(row.get("index")), default={})
    for holder in (body, choice):
        require_no_error(holder, reply, peer)
    is_filtered = _is_filtered(choice, *objects_in(body.get("prompt_filter_results")))
    message = choice.get("message")
    if isinstance(message, dict) and message.get("role") not in ("user", "system", "tool") and not is_filtered:
        return choice, message
    if is_filtered or finish_reason_of((choice or body).get("finish_reason")) == "refused":
        raise declined_error(peer, "a content filter stopped it")
    raise TransientError("bad_reply", f"The answer has no message: {reply_excerpt(reply, peer)}")


def _is_filtered(*rows: Mapping[str, Any]) -> bool:
    """Return whether Azure's results for the prompt or the answer say that its content filter stopped it."""
    results = [row.get("content_filter_results") for row in rows]
    kinds = [kind for result in results if isinstance(result, dict) for kind in result.values()]
    return any(kind.get("filtered") is True for kind in objects_in(kinds))


def _text_reasoning_refusal(message: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the text, the reasoning and the refusal of a chat message. Each may be empty."""
    content = message.get("content")
    parts = objects_in(content)
    texts = [part for part in parts if part.get("type", "text") in ("text", "output_text")]
    text = content if isinstance(content, str) else _joined(texts, "text")
    reasoning = message.get("reasoning_content") or message.get("reasoning") or _joined(parts, "thinking")
    refusal = message.get("refusal") or _joined(parts, "refusal")
    return text, reasoning if isinstance(reasoning, str) else "", refusal if isinstance(refusal, str) else ""


def _joined(parts: Sequence[Mapping[str, Any]], key: str) -> str:
    """Return the texts under ``key`` of all parts of a message, joined. A thinking part may itself hold parts."""
    texts: list[object] = []
    for part in parts:
        value = part.get(key)
        texts += [value] if isinstance(value, str) else [inner.get("text") for inner in objects_in(value)]
    return "".join(text for text in texts if isinstance(text, str))


def _tool_calls(message: Mapping[str, Any]) -> list[ToolCall]:
    """Return the calls of tools in a chat message, each with the name and the arguments that the model wrote."""
    calls = []
    for function in objects_in([call.get("function") for call in objects_in(message.get("tool_calls"))]):
        arguments = function.get("arguments") or "{}"
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        calls.append(ToolCall(str(function.get("name") or ""), written))
    return calls


def _answer_in_reasoning(completion: Completion) -> Completion:
    """Return a reply whose whole answer is in its reasoning, with the reasoning as its text.

    The reasoning must be strict JSON, and the reply must have ended normally. Raises TransientError for any other empty
    reply.
    """
    if completion.finish_reason == "stop":
        try:
            answer = json.loads(completion.reasoning)
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict):
            return replace(completion, text=completion.reasoning, reasoning="", text_source="reasoning")
    raise empty_reply_error(completion)
