"""Makes a Judge from RULER's ``judge_model`` and ``extra_litellm_params``, once for all calls with the same arguments.

Not responsible for groups and rewards (``art.reward``). LiteLLM itself is neither imported nor needed.
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
from calipers.backends.names import name_without_password
from calipers.backends.providers.known import RequestTarget, provider_of, request_target
from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.protocols.question import Parse
from calipers.trainers.process.once import once_per_process

MAX_PARALLEL: Final = 128
"""The most calls to the judge in flight on an event loop, unless ``max_parallel_requests`` is given. RULER has no
limit.
"""

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
"""LiteLLM's names for options of a Judge."""

_IGNORED: Final = frozenset(
    {
        *("caching", "cache", "no-log", "metadata", "tags", "verbose"),
        *("drop_params", "additional_drop_params", "allowed_openai_params"),
    }
)
"""Arguments of RULER that are accepted without effect. The ledger caches already, and parameters that a server refuses
by name are dropped anyway.
"""

_RESERVED: Final = frozenset(
    {
        *("model", "messages", "response_format", "stream", "stream_options"),
        *("tools", "tool_choice", "functions", "function_call", "parallel_tool_calls"),
    }
)
"""Parameters that calipers sets itself, because they decide whether a reply can be read."""

_UNSUPPORTED: Final = frozenset(
    {
        *("mock_response", "mock_timeout", "fallbacks", "context_window_fallback_dict", "model_list", "client"),
        *("custom_llm_provider", "api_version", "api_type", "deployment_id", "organization", "retry_policy"),
        *("headers", "extra_headers", "extra_query", "ssl_verify", "guardrails", "logger_fn", "base_model"),
        *("input_cost_per_token", "output_cost_per_token"),
    }
)
_UNSUPPORTED_PREFIXES: Final = ("litellm_", "aws_", "azure_", "vertex_")


@dataclass(frozen=True, slots=True)
class _Parameters:
    """RULER's ``extra_litellm_params`` after checking. ``body`` is JSON, so that the object can be hashed.

    ``endpoint_options`` names the options about the endpoint that were given. The numbers default to a Judge's own
    defaults.
    """

    endpoint_options: tuple[str, ...] = ()
    base_url: str | None = None
    api_key: str | None = None
    timeout: float = 120.0
    retries: int = 4
    concurrency: int = MAX_PARALLEL
    max_tokens: int = 8192
    body: str = "{}"


class _Identity:
    """Wraps an object as a cache key that is equal only to itself, whether or not the object can be hashed."""

    __slots__ = ("wrapped",)

    def __init__(self, wrapped: Any) -> None:
        self.wrapped = wrapped

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.wrapped is other.wrapped

    def __hash__(self) -> int:
        return id(self.wrapped)


def judge_for(
    judge_model: str | Backend | Judge,
    extra: Mapping[str, object] | None = None,
    *,
    debug: bool = False,
    parse: Parse | None = None,
) -> Judge:
    """Return the Judge that the arguments of ART's RULER describe.

    The same arguments give the same Judge, in any event loop.

    Raises ConfigError for invalid arguments, before any token is paid for.
    """
    if isinstance(judge_model, Judge):
        if extra or debug or parse is not None:
            raise ConfigError(
                "judge_model is a Judge, which has its own settings: instead of extra_litellm_params=, debug= and "
                "parse_response= here, pass base_url=, params=, debug= and parse= when you make the Judge"
            )
        return judge_model
    wanted = _read_parameters(extra) if extra else _Parameters()
    if isinstance(judge_model, str):
        name = judge_model.strip()
        url = _base_url(name, wanted.base_url)
        shared = _named_backend(
            name, url, wanted.api_key, wanted.timeout, wanted.retries, wanted.concurrency, _environment(name, url)
        )
    elif callable(getattr(judge_model, "complete", None)):
        if wanted.endpoint_options:
            options = ", ".join(wanted.endpoint_options)
            raise ConfigError(f"{options}: set this on the Backend that you pass; it cannot be changed here")
        shared = _shared_backend(_Identity(judge_model), wanted.concurrency)
    else:
        raise ConfigError(
            f"judge_model is a {type(judge_model).__name__}: it must be a judge's name such as 'openai/gpt-5-mini', "
            "a calipers.Judge or a Backend"
        )
    return _judge(shared, wanted.concurrency, wanted.max_tokens, wanted.body, debug=debug, parse=_Identity(parse))


@once_per_process(maxsize=32)
def _named_backend(
    name: str,
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    retries: int,
    concurrency: int,
    environment: RequestTarget | None,  # noqa: ARG001 - a changed environment needs a new connection
) -> Shared:
    bare = find_backend(name, base_url=base_url, api_key=api_key, timeout=timeout)
    return Shared(bare, name=name_without_password(name), attempts=retries + 1, concurrency=concurrency)


@once_per_process(maxsize=32)
def _shared_backend(backend: _Identity, concurrency: int) -> Shared:
    return Shared(backend.wrapped, attempts=None, concurrency=concurrency)


@once_per_process(maxsize=64)
def _judge(shared: Shared, concurrency: int, max_tokens: int, body: str, *, debug: bool, parse: _Identity) -> Judge:
    return Judge(
        shared,
        concurrency=concurrency,
        calls={"max_tokens": max_tokens, "params": json.loads(body)},
        records={"debug": debug},
        parse=parse.wrapped,
    )


def _read_parameters(extra: Mapping[str, object]) -> _Parameters:
    if not isinstance(extra, Mapping):
        raise ConfigError(f"extra_litellm_params is a {type(extra).__name__}: it must be a dict of parameters")
    options: dict[str, Any] = {}
    body: dict[str, object] = {}
    for name, value in extra.items():
        if value is None or name in _IGNORED:  # None means "not set", as in LiteLLM
            continue
        _refuse_unusable(name, value)
        if name in _OPTIONS:
            option = _OPTIONS[name]
            if options.setdefault(option, value) != value:
                raise ConfigError(f"extra_litellm_params sets {option} twice, to {options[option]!r} and {value!r}")
        elif name == "extra_body":
            body |= _body(value)
        elif name not in _RESERVED and not (name == "n" and value == 1):
            body[name] = value
    return _Parameters(
        endpoint_options=tuple(option for option in options if option not in {"max_tokens", "concurrency"}),
        base_url=_text("api_base", options.get("base_url")),
        api_key=_text("api_key", options.get("api_key")),
        timeout=_seconds("timeout", options.get("timeout", 120.0)),
        retries=_count("num_retries", options.get("retries", 4), least=0),
        concurrency=_count("max_parallel_requests", options.get("concurrency", MAX_PARALLEL), least=1),
        max_tokens=_count("max_tokens", options.get("max_tokens", 8192), least=1),
        body=_json(body),
    )


def _refuse_unusable(name: str, value: object) -> None:
    if name == "n" and value != 1:
        raise ConfigError(
            f"extra_litellm_params: n={value!r} asks for answers that are never read; use Judge(samples=...)"
        )
    if name in _RESERVED and value:
        hint = " (to read replies of your own form, pass parse_response=)" if name == "response_format" else ""
        raise ConfigError(f"extra_litellm_params: calipers sets {name!r} itself, so leave it out{hint}")
    if name in _UNSUPPORTED or name.startswith(_UNSUPPORTED_PREFIXES):
        raise ConfigError(
            f"extra_litellm_params: {name!r} is an option of LiteLLM, which is not used here; leave it out, or pass a "
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


def _environment(name: str, base_url: str | None) -> RequestTarget | None:
    """Return the judge's address and key as the environment variables give them now; None for an unknown provider."""
    provider = provider_of(name)
    try:
        return None if provider is None else request_target(provider, base_url=base_url)
    except ConfigError:
        return None  # the error is reported when the backend is made


def _base_url(judge: str, api_base: str | None) -> str | None:
    """Return ``api_base`` as a base URL: LiteLLM's address of Ollama lacks the path of the OpenAI-compatible API."""
    if api_base and judge.startswith(("ollama/", "ollama_chat/")) and not urlsplit(api_base).path.strip("/"):
        return f"{api_base.rstrip('/')}/v1"
    return api_base
