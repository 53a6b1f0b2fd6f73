"""From RULER's ``judge_model`` and ``extra_litellm_params`` to a Judge, built once and shared by all calls.

Not responsible for groups and rewards (``art``). LiteLLM itself is neither imported nor needed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from calipers.backends.connect import find_backend
from calipers.backends.limits.bounds import Shared
from calipers.backends.names import shown
from calipers.backends.providers.known import Asked, asked_at, provider_of
from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.protocols.question import Parse
from calipers.trainers.process.once import once_per_process

IN_FLIGHT: Final = 128
"""Judge calls at a time on one event loop unless ``max_parallel_requests`` says otherwise. RULER has no bound at all."""

_OPTIONS: Final[Mapping[str, str]] = {
    "api_base": "base_url",
    "base_url": "base_url",
    "api_key": "api_key",
    "timeout": "timeout",
    "request_timeout": "timeout",
    "num_retries": "retries",
    "max_retries": "retries",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_parallel_requests": "concurrency",
}
"""LiteLLM's names for what a Judge is given by ours."""

_MOOT: Final = frozenset(
    {
        *("caching", "cache", "no-log", "metadata", "tags", "verbose"),
        *("drop_params", "additional_drop_params", "allowed_openai_params"),
    }
)
"""Accepted without effect: caching is the ledger's, and what a server refuses by name is left out anyway."""

_OURS: Final = frozenset(
    {
        *("model", "messages", "response_format", "stream", "stream_options"),
        *("tools", "tool_choice", "functions", "function_call", "parallel_tool_calls"),
    }
)
"""How the question is put, which decides whether its answer can be read."""

_LITELLM: Final = frozenset(
    {
        *("mock_response", "mock_timeout", "fallbacks", "context_window_fallback_dict", "model_list", "client"),
        *("custom_llm_provider", "api_version", "api_type", "deployment_id", "organization", "retry_policy"),
        *("headers", "extra_headers", "extra_query", "ssl_verify", "guardrails", "logger_fn", "base_model"),
        *("input_cost_per_token", "output_cost_per_token"),
    }
)
_LITELLM_PREFIXES: Final = ("litellm_", "aws_", "azure_", "vertex_")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """``extra_litellm_params``, sorted; ``body`` is JSON, so that the whole can be compared and remembered.

    ``given`` names what was set of the way to the judge. The numbers are a Judge's own defaults.
    """

    given: tuple[str, ...] = ()
    base_url: str | None = None
    api_key: str | None = None
    timeout: float = 120.0
    retries: int = 4
    concurrency: int = IN_FLIGHT
    max_tokens: int = 8192
    body: str = "{}"


class _Same:
    """A key of a cache that stands for one object, equal only to itself, whether or not it can be hashed."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)


def judge_for(
    judge_model: str | Backend | Judge,
    extra: Mapping[str, object] | None = None,
    *,
    debug: bool = False,
    parse: Parse | None = None,
) -> Judge:
    """The Judge these arguments describe; the same one for the same arguments, in whatever event loop.

    Raises ConfigError, before any token is spent, for arguments that cannot work.
    """
    if isinstance(judge_model, Judge):
        if extra or debug or parse is not None:
            raise ConfigError(
                "judge_model is a Judge, which is set up already: give it base_url=, params=, debug= or parse= itself, "
                "in place of extra_litellm_params=, debug= and parse_response= here"
            )
        return judge_model
    wanted = _read(extra) if extra else _NOTHING
    if isinstance(judge_model, str):
        name = judge_model.strip()
        url = _address(name, wanted.base_url)
        shared = _named(
            name, url, wanted.api_key, wanted.timeout, wanted.retries, wanted.concurrency, _surroundings(name, url)
        )
    elif callable(getattr(judge_model, "complete", None)):
        if wanted.given:
            raise ConfigError(f"{', '.join(wanted.given)}: set it on the Backend you pass; it cannot be changed here")
        shared = _own(_Same(judge_model), wanted.concurrency)
    else:
        raise ConfigError(
            f"judge_model is a {type(judge_model).__name__}: give a judge name such as 'openai/gpt-5-mini', "
            "a calipers.Judge or a Backend"
        )
    return _judge(shared, wanted.concurrency, wanted.max_tokens, wanted.body, debug=debug, parse=_Same(parse))


@once_per_process(maxsize=32)
def _named(
    name: str,
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    retries: int,
    concurrency: int,
    surroundings: Asked | None,  # noqa: ARG001 - another environment is another connection
) -> Shared:
    bare = find_backend(name, base_url=base_url, api_key=api_key, timeout=timeout)
    return Shared(bare, name=shown(name), attempts=retries + 1, concurrency=concurrency)


@once_per_process(maxsize=32)
def _own(backend: _Same, concurrency: int) -> Shared:
    return Shared(backend.it, attempts=None, concurrency=concurrency)


@once_per_process(maxsize=64)
def _judge(shared: Shared, concurrency: int, max_tokens: int, body: str, *, debug: bool, parse: _Same) -> Judge:
    return Judge(
        shared,
        concurrency=concurrency,
        max_tokens=max_tokens,
        params=json.loads(body),
        debug=debug,
        parse=parse.it,
    )


def _read(extra: Mapping[str, object]) -> _Wanted:
    if not isinstance(extra, Mapping):
        raise ConfigError(f"extra_litellm_params is a {type(extra).__name__}: it must be a dict of parameters")
    options: dict[str, Any] = {}
    body: dict[str, object] = {}
    for name, value in extra.items():
        if value is None or name in _MOOT:  # None is "not set", as it is to LiteLLM
            continue
        _refuse(name, value)
        if name in _OPTIONS:
            option = _OPTIONS[name]
            if options.setdefault(option, value) != value:
                raise ConfigError(f"extra_litellm_params sets {option} twice, to {options[option]!r} and {value!r}")
        elif name == "extra_body":
            body |= _body(value)
        elif name not in _OURS and not (name == "n" and value == 1):
            body[name] = value
    return _Wanted(
        given=tuple(option for option in options if option not in {"max_tokens", "concurrency"}),
        base_url=_text("api_base", options.get("base_url")),
        api_key=_text("api_key", options.get("api_key")),
        timeout=_seconds("timeout", options.get("timeout", 120.0)),
        retries=_count("num_retries", options.get("retries", 4), least=0),
        concurrency=_count("max_parallel_requests", options.get("concurrency", IN_FLIGHT), least=1),
        max_tokens=_count("max_tokens", options.get("max_tokens", 8192), least=1),
        body=_json(body),
    )


def _refuse(name: str, value: object) -> None:
    if name == "n" and value != 1:
        raise ConfigError(f"extra_litellm_params: n={value!r} asks for answers nobody reads; use Judge(samples=...)")
    if name in _OURS and value:
        hint = " (to read replies of your own form, give parse_response=)" if name == "response_format" else ""
        raise ConfigError(f"extra_litellm_params: {name!r} is calipers' own to decide, so leave it out{hint}")
    if name in _LITELLM or name.startswith(_LITELLM_PREFIXES):
        raise ConfigError(
            f"extra_litellm_params: {name!r} is LiteLLM's own, and LiteLLM is not used here; leave it out, or pass a "
            "Backend as judge_model (calipers.backends.providers.openai_compatible.OpenAICompatible takes headers=)"
        )


def _body(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"extra_litellm_params: extra_body is a {type(value).__name__}: it must be a dict")
    return value


def _text(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"extra_litellm_params: {name} is a {type(value).__name__}: it must be text")
    return value


def _seconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ConfigError(f"extra_litellm_params: {name}={value!r} must be a number of seconds above 0")
    return float(value)


def _count(name: str, value: object, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"extra_litellm_params: {name}={value!r} must be a whole number from {least} up")
    return value


def _json(body: Mapping[str, object]) -> str:
    try:
        return json.dumps(body, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"extra_litellm_params cannot be sent as JSON: {error}") from error


def _surroundings(name: str, base_url: str | None) -> Asked | None:
    """Where the environment has this judge asked now, and with which key."""
    provider = provider_of(name)
    try:
        return None if provider is None else asked_at(provider, base_url=base_url)
    except ConfigError:
        return None  # what cannot work is said where the backend is made


def _address(judge: str, given: str | None) -> str | None:
    """``api_base``. LiteLLM's form for Ollama lacks the path of its OpenAI half."""
    if given and judge.startswith(("ollama/", "ollama_chat/")) and not urlsplit(given).path.strip("/"):
        return f"{given.rstrip('/')}/v1"
    return given


_NOTHING: Final = _Wanted()
