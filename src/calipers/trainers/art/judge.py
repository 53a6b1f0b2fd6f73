"""Makes a Judge from RULER's ``judge_model`` and ``extra_litellm_params``, once for all calls with the same arguments.

LiteLLM itself is neither imported nor needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from calipers.backends.connect import find_backend
from calipers.backends.limits.limited import Limited
from calipers.backends.names import name_without_password
from calipers.config.arguments import require_above_zero, require_text, require_whole
from calipers.config.option import did_you_mean
from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.protocols.question import Parse
from calipers.trainers.process import once_per_process

MAX_PARALLEL: Final = 128
"""The most calls in flight on an event loop, unless ``max_parallel_requests`` is given. RULER has no limit."""

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

_USUAL: Final[Mapping[str, Any]] = {"timeout": 120.0, "retries": 4, "max_tokens": 8192, "concurrency": MAX_PARALLEL}

_IGNORED: Final = frozenset({"caching", "cache", "metadata", "tags", "verbose", "drop_params", "num_workers"})
"""Accepted without effect: the ledger caches, and parameters that a server refuses by name are dropped anyway."""

_SENT: Final = frozenset(
    {
        *("temperature", "top_p", "top_k", "min_p", "seed", "stop", "user", "logit_bias", "service_tier", "verbosity"),
        *("presence_penalty", "frequency_penalty", "repetition_penalty", "reasoning_effort", "thinking"),
    }
)
"""Parameters that are sent as they are. Others, which ``extra_body`` may hold, may be LiteLLM's own or misspelt."""


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

    The same arguments give the same Judge, in any event loop. Raises ConfigError for invalid arguments, before any
    token is paid for.
    """
    if isinstance(judge_model, Judge):
        if extra or debug or parse is not None:
            raise ConfigError(
                "judge_model is a Judge, which has its own settings: instead of extra_litellm_params=, debug= and "
                "parse_response= here, pass base_url=, params=, debug= and parse= when you make the Judge"
            )
        return judge_model
    options, body = _read_parameters({} if extra is None else _mapping("extra_litellm_params", extra))
    source: str | _Identity
    if isinstance(judge_model, str):
        source = judge_model.strip()
        options["base_url"] = _base_url(source, options.get("base_url"))
    elif callable(getattr(judge_model, "complete", None)):
        if given := [option for option in options if option not in {"max_tokens", "concurrency"}]:
            raise ConfigError(f"{', '.join(given)}: set this on the Backend that you pass; it cannot be changed here")
        source = _Identity(judge_model)
    else:
        raise ConfigError(
            f"judge_model is a {type(judge_model).__name__}: it must be a judge's name such as 'openai/gpt-5-mini', "
            "a calipers.Judge or a Backend"
        )
    chosen = {**_USUAL, **options}
    max_tokens = chosen.pop("max_tokens")
    shared = _shared(source, tuple(sorted(chosen.items())))
    return _judge(shared, chosen["concurrency"], max_tokens, body, debug=debug, parse=_Identity(parse))


@once_per_process(maxsize=32)
def _shared(source: str | _Identity, options: tuple[tuple[str, Any], ...]) -> Limited:
    """Return a judge's connections and limit, which all Judges share that only read or ask differently."""
    given = dict(options)
    concurrency = given["concurrency"]
    if isinstance(source, _Identity):
        if isinstance(source.wrapped, Limited):
            return source.wrapped
        return Limited(source.wrapped, attempts=None, concurrency=concurrency)
    address = {name: given.get(name) for name in ("base_url", "api_key")}
    bare = find_backend(source, timeout=given["timeout"], **address)
    return Limited(bare, name=name_without_password(source), attempts=given["retries"] + 1, concurrency=concurrency)


@once_per_process(maxsize=64)
def _judge(shared: Limited, concurrency: int, max_tokens: int, body: str, *, debug: bool, parse: _Identity) -> Judge:
    return Judge(
        shared,
        concurrency=concurrency,
        calls={"max_tokens": max_tokens, "params": json.loads(body)},
        records={"debug": debug},
        parse=parse.wrapped,
    )


def _read_parameters(extra: Mapping[str, object]) -> tuple[dict[str, Any], str]:
    """Return the options of a Judge in ``extra_litellm_params``, and the parameters to send, as JSON."""
    options: dict[str, Any] = {}
    body: dict[str, object] = {}
    for name, value in extra.items():
        if value is None or value is False or name in _IGNORED:  # None means "not set", as in LiteLLM
            continue
        if name in _OPTIONS:
            option = _OPTIONS[name]
            if options.setdefault(option, value) != value:
                raise ConfigError(f"extra_litellm_params sets {option} twice, to {options[option]!r} and {value!r}")
        elif name == "extra_body":
            body |= _mapping("extra_body", value)
        elif name in _SENT:
            body[name] = value
        elif (name, value) != ("n", 1):
            raise _unknown(name)
    _require_usable(options)
    try:
        return options, json.dumps(body, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"extra_litellm_params cannot be sent as JSON: {error}") from error


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} is a {type(value).__name__}: it must be a dict")
    return value


def _unknown(name: str) -> ConfigError:
    known = _OPTIONS.keys() | _SENT | {"extra_body"}
    return ConfigError(
        f"extra_litellm_params: {name!r} is not read here.{did_you_mean(name, known)} A parameter of the server's goes "
        "into extra_body=. For what LiteLLM itself does, pass a calipers.Judge or a Backend as judge_model; to read "
        "replies of another form, parse_response="
    )


def _require_usable(options: Mapping[str, Any]) -> None:
    require_text(**{name: options.get(name) for name in ("base_url", "api_key")})
    require_whole(**{name: options.get(name) for name in ("retries", "max_tokens", "concurrency")})
    require_above_zero(**{name: options.get(name) for name in ("timeout", "max_tokens", "concurrency")})
    if options.get("retries", 0) < 0:
        raise ConfigError(f"extra_litellm_params: num_retries={options['retries']}: it must be 0 or more")


def _base_url(judge: str, api_base: str | None) -> str | None:
    """Return ``api_base`` as a base URL: LiteLLM's address of Ollama lacks the path of the OpenAI-compatible API."""
    if api_base and judge.startswith(("ollama/", "ollama_chat/")) and not urlsplit(api_base).path.strip("/"):
        return f"{api_base.rstrip('/')}/v1"
    return api_base
