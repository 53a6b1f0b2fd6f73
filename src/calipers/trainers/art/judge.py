"""Makes a Judge from RULER's ``judge_model`` and ``extra_litellm_params``, once for all calls with the same arguments.

LiteLLM itself is neither imported nor needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from calipers.config.arguments import LITELLM_NAMES, require_whole
from calipers.config.option import did_you_mean
from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.protocols.question import Parse
from calipers.trainers.process import as_judge, once_per_process

_OPTIONS: Final = LITELLM_NAMES | {name: name for name in ("base_url", "api_key", "timeout", "max_tokens")}

_USUAL: Final[Mapping[str, Any]] = {"timeout": 120.0, "attempts": 5, "max_tokens": 8192, "concurrency": 128}
"""RULER has no limit on concurrent calls."""

_IGNORED: Final = frozenset({"caching", "cache", "metadata", "tags", "verbose", "drop_params", "num_workers"})
"""Accepted without effect: the ledger caches, and parameters that a server refuses by name are dropped anyway."""

_SENT: Final = frozenset(
    {
        *("temperature", "top_p", "top_k", "min_p", "seed", "stop", "user", "logit_bias", "service_tier", "verbosity"),
        *("presence_penalty", "frequency_penalty", "repetition_penalty", "reasoning_effort", "thinking"),
    }
)
"""Parameters that are sent as they are. Others, which ``extra_body`` may hold, may be LiteLLM's own or misspelt."""


def judge_for(
    judge_model: str | Backend | Judge,
    extra: Mapping[str, object] | None = None,
    *,
    debug: bool = False,
    parse: Parse | None = None,
) -> Judge:
    """Return the Judge that the arguments of ART's RULER describe.

    The same arguments, the same function ``parse`` among them, give the same Judge, in any event loop. Raises
    ConfigError for invalid arguments, before any token is paid for.
    """
    if not isinstance(judge_model, str):
        if extra or debug or parse is not None:
            raise ConfigError(
                f"judge_model is a {type(judge_model).__name__}, which has its own settings: instead of "
                "extra_litellm_params=, debug= and parse_response= here, pass base_url=, params=, debug= and parse= "
                "when you make a calipers.Judge"
            )
        return as_judge(judge_model)
    options = _judge_options({} if extra is None else extra)
    options |= {"judge": judge_model.strip(), "debug": debug}
    if base_url := options.get("base_url"):
        options["base_url"] = _with_path(options["judge"], base_url)
    try:
        described = json.dumps(options, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"extra_litellm_params cannot be sent as JSON: {error}") from error
    return _judge(described, parse)


@once_per_process(maxsize=32)
def _judge(options: str, parse: Parse | None) -> Judge:
    return Judge.of({**json.loads(options), "parse": parse})


def _judge_options(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a Judge in ``extra_litellm_params``."""
    options: dict[str, Any] = {}
    params: dict[str, Any] = {}
    for name, value in _mapping("extra_litellm_params", extra).items():
        if value is None or value is False or name in _IGNORED:  # None means "not set", as in LiteLLM
            continue
        if name in _OPTIONS:
            option = _OPTIONS[name]
            if options.setdefault(option, value) != value:
                raise ConfigError(f"extra_litellm_params sets {option} twice, to {options[option]!r} and {value!r}")
        elif name == "extra_body":
            params |= _mapping(name, value)
        elif name in _SENT:
            params[name] = value
        elif (name, value) != ("n", 1):
            known = _OPTIONS.keys() | _SENT | {"extra_body"}
            raise ConfigError(
                f"extra_litellm_params: {name!r} is not read here.{did_you_mean(name, known)} Put a parameter of the "
                "server's into extra_body=. For what LiteLLM itself does, pass a calipers.Judge or a Backend as "
                "judge_model. To read replies of another form, pass parse_response="
            )
    if "attempts" in options:
        require_whole(num_retries=options["attempts"])
        options["attempts"] += 1  # LiteLLM does not count the first one
    return {**_USUAL, **options, "params": params}


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} is a {type(value).__name__}: it must be a dict")
    return value


def _with_path(judge: str, api_base: str) -> str:
    """Return ``api_base`` as a base URL: LiteLLM's address of Ollama lacks the path of the OpenAI-compatible API."""
    if str(judge).startswith(("ollama/", "ollama_chat/")) and not urlsplit(api_base).path.strip("/"):
        return f"{api_base.rstrip('/')}/v1"
    return api_base
