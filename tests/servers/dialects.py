"""Scripted servers that refuse what each provider refuses, in its words, and answer like it once they are pleased.

Sources of the words: the providers' documentation, public issues, and servers that were run (docs/judges.md). A server
here is a function from a request to an answer; state, where it needs some, is what it was asked so far.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from servers.faulty_server import Answer, Asked, chunks, error, said, streamed

Server = Callable[[Asked], Answer]
Rule = Callable[[Asked], Answer | None]


def verdict(asked: Asked) -> str:
    """What a good judge answers: a score for each attempt the question names, or the one word that a schema allows."""
    question = json.dumps(asked.body)
    if not (named := re.findall(r"Score these attempts: ([A-Z, ]+)\.", question)):
        forced = re.search(r'"enum": \["(\w+)"\]', question)
        return json.dumps({"answer": forced[1] if forced else "apple"})
    keys = named[-1].split(", ")
    scores = {key: 20 + 15 * place for place, key in enumerate(keys)}
    return json.dumps({"explanations": dict.fromkeys(keys, "fair"), "scores": scores})


def _verdict(asked: Asked) -> Answer:
    return said(verdict(asked))


@dataclass(frozen=True)
class Dialect:
    """``judge`` is asked of a server that answers once none of ``rules`` objects; the group ends scored, or fails with
    a reason that matches ``finding``.

    ``again`` is how many calls the next group takes, once all is learned.
    """

    judge: str
    rules: Sequence[Rule] = ()
    answer: Server = _verdict
    once: Rule | None = None
    finding: str | None = None
    again: int = 1
    params: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0, "seed": 1})
    query: str = ""

    def server(self) -> Server:
        """A server that begins anew: the first request that ``once`` objects to is refused, and no other."""
        spent: list[Answer] = []

        def serve(asked: Asked) -> Answer:
            for rule in self.rules:
                if (refusal := rule(asked)) is not None:
                    return refusal
            if self.once is not None and not spent and (refusal := self.once(asked)) is not None:
                spent.append(refusal)
                return refusal
            return self.answer(asked)

        return serve


def _form(asked: Asked) -> str | None:
    return (asked.body.get("response_format") or {}).get("type")


def _has(name: str, refusal: Answer) -> Rule:
    return lambda asked: refusal if name in asked.body else None


def _form_is(kind: str, words: str, status: int = 400, **more: Any) -> Rule:
    return lambda asked: error(status, words, **more) if _form(asked) == kind else None


def _above(limit: int, refusal: Answer) -> Rule:
    return lambda asked: refusal if asked.body.get("max_tokens", 0) > limit else None


def _unsupported(name: str, words: str) -> Rule:
    return _has(name, error(400, words, param=name))


def _pattern(refusal: Answer) -> Rule:
    return lambda asked: refusal if '"pattern"' in json.dumps(asked.body) else None


def _unstreamed(words: str) -> Rule:
    return lambda asked: None if asked.body.get("stream") else error(400, words)


def _google(message: str) -> Answer:
    return Answer(400, [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}])


def _anthropic(status: int, message: str, kind: str = "invalid_request_error") -> Answer:
    return Answer(status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})


def _llama_cpp_garbles(asked: Asked) -> Answer | None:
    words = "The model produced output that does not match the expected peg-native format"
    return error(500, words, type="server_error") if _form(asked) else None


def _routed(asked: Asked) -> Answer | None:
    """OpenRouter without require_parameters picks a provider that ignores the form."""
    if _form(asked) and not asked.body.get("provider", {}).get("require_parameters"):
        return said("Sure! The first attempt is the best one.")
    return None


def _unexpected_fields(asked: Asked) -> Answer | None:
    found = {"seed", "response_format"} & set(asked.body)
    return Answer(422, {"detail": f"Unexpected fields in the request: {found}"}) if found else None


def _claude_schema(asked: Asked) -> Answer | None:
    schema = json.dumps(asked.body.get("output_config", {}))
    if found := re.search(r'"(minimum|maximum|pattern|maxLength)":', schema):
        return _anthropic(400, f"output_config.format.schema: property '{found[1]}' is not supported")
    return None


def _thinking_aloud(asked: Asked) -> Answer:
    return said(f"<think>\nThe second is longer.\n</think>\n\n{verdict(asked)}")


def _in_chunks(asked: Asked) -> Answer:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "The last one."}]}
    return said(None, content=[thought, {"type": "text", "text": verdict(asked)}])


def _stream(asked: Asked) -> Answer:
    return streamed(*chunks(verdict(asked), pieces=20))


def _bare_stream(asked: Asked) -> Answer:
    return streamed(*chunks(verdict(asked), usage=False), done=False, headers={"Content-Type": "text/plain"})


_QUOTA = "You exceeded your current quota, please check your plan and billing details."
_NO_ENDPOINTS = "No endpoints found that can handle the requested parameters."
_NO_SEED = _has("seed", _anthropic(400, "seed: Extra inputs are not permitted"))
_DASHSCOPE = "This model only support stream mode, please enable the stream parameter to access the model."

_VLLM_WINDOW = (
    "'max_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request has 900 "
    "input tokens (8192 > 4096 - 900)."
)
_CLAUDE_LIMIT = "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens"
_LLAMA_CPP_PYTHON = "\"Input should be 'text' or 'json_object'\""
_SEED_UNKNOWN = Answer(422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]})
_GEMINI_PATTERN = "Unknown name \"pattern\" at 'generation_config.response_json_schema': Cannot find field."

DIALECTS: Mapping[str, Dialect] = {
    "OpenAI reasoning model": Dialect(
        "openai/m",
        [
            _unsupported("max_tokens", "'max_tokens' is not supported with this model. Use 'max_completion_tokens'."),
            _unsupported("temperature", "'temperature' does not support 0 with this model. Only the default (1) is."),
        ],
    ),
    "Azure, an old API version": Dialect(
        "openai/judge",
        [_form_is("json_schema", "json_schema is enabled only for api versions 2024-08-01 and later")],
    ),
    "Anthropic, newest": Dialect(
        "anthropic/claude",
        [_NO_SEED, _has("temperature", _anthropic(400, "`temperature` is deprecated for this model.")), _claude_schema],
    ),
    "Anthropic, before structured output": Dialect(
        "anthropic/claude",
        [
            _NO_SEED,
            _has("output_config", _anthropic(400, "output_config.format: Extra inputs are not permitted")),
            _above(4096, _anthropic(400, _CLAUDE_LIMIT)),
        ],
        again=2,
    ),
    "Gemini's OpenAI route": Dialect(
        "gemini/m",
        [
            _has("seed", _google('Invalid JSON payload received. Unknown name "seed": Cannot find field.')),
            _pattern(_google(_GEMINI_PATTERN)),
        ],
        query="/v1beta/openai",
    ),
    "Gemini, too many a minute": Dialect(
        "gemini/m", once=lambda _: Answer(429, {"error": {"code": 429, "message": f"{_QUOTA} Please retry in 0.4s."}})
    ),
    "Ollama, thinking in the text": Dialect("ollama/m", answer=_thinking_aloud),
    "vLLM, a small window": Dialect(
        "vllm/m",
        [_above(3196, error(400, _VLLM_WINDOW, param="max_tokens"))],
        answer=lambda asked: said(verdict(asked), reasoning="hm"),
        again=2,
    ),
    "vLLM, white space without end": Dialect(
        "vllm/m",
        answer=lambda _: said('{"scores": {' + " \n" * 500, finish_reason="length"),
        finding="cut off|ends inside",
    ),
    "llama.cpp, garbled": Dialect("llamacpp/m", [_llama_cpp_garbles], again=2),
    "llama.cpp's Python server": Dialect("llamacpp/m", [_form_is("json_schema", _LLAMA_CPP_PYTHON, 500)]),
    "transformers serve": Dialect("vllm/m", [_unexpected_fields]),
    "LM Studio": Dialect(
        "lm_studio/m",
        [_form_is("json_object", "'response_format.type' must be 'json_schema' or 'text'")],
        answer=lambda asked: said("", reasoning_content=verdict(asked)),
    ),
    "DashScope, streams only": Dialect("dashscope/m", [_unstreamed(_DASHSCOPE)], answer=_stream),
    "a stream without options": Dialect(
        "openai/m",
        [
            _unstreamed("Non-streaming requests are not supported"),
            _has("stream_options", error(422, "Extra inputs are not permitted", param="stream_options")),
        ],
        answer=_bare_stream,
    ),
    "DeepSeek": Dialect(
        "deepseek/m",
        [_form_is("json_schema", "This response_format type is unavailable now")],
        once=lambda asked: said("") if _form(asked) == "json_object" else None,
    ),
    "Mistral": Dialect("mistral/m", [_has("seed", _SEED_UNKNOWN)], answer=_in_chunks),
    "Groq": Dialect(
        "groq/m",
        [_form_is("json_schema", "This model does not support response format `json_schema`.")],
        once=_form_is("json_object", "Failed to generate JSON.", code="json_validate_failed"),
    ),
    "OpenRouter": Dialect("openrouter/m", [_routed, _form_is("json_schema", _NO_ENDPOINTS, 404)]),
    "OpenAI's decisions": Dialect("openai_decisions/m", answer=lambda _: said("7"), params={}),
    "not a decision model": Dialect(
        "systemone/m",
        answer=lambda _: error(501, "This model is not a decision model"),
        finding="ask it in chat instead",
        params={},
    ),
    "a model without single-token levels": Dialect(
        "systemone/m",
        answer=lambda _: error(500, "label is not a single token: true"),
        finding="ask it in chat instead",
        params={},
    ),
}
