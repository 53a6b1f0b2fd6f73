"""Turns a judge's name into the backend that sends requests to that judge. No server is contacted."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from calipers import registry
from calipers.backends.limits.pool import Pool
from calipers.backends.names import is_address, name_without_password, split_judge_name
from calipers.backends.providers.known import Provider, nearest_provider, provider_of, request_target
from calipers.errors import ConfigError
from calipers.interfaces import Backend, FullBackend, full

_log = logging.getLogger(__name__)


def connect(
    judge: str | Backend,
    *,
    base_url: str | Sequence[str] | None,
    api_key: str | None,
    timeout: float,
    headers: Mapping[str, str] | None = None,
) -> FullBackend:
    """Return the backend for a judge's name (a pool for several base URLs), or the caller's own backend.

    ``headers`` are added to every request. Raises ConfigError for an unknown name, and for options that do not apply.
    """
    if isinstance(judge, str):
        urls = [base_url] if base_url is None or isinstance(base_url, str) else base_url
        if not isinstance(urls, list | tuple) or not all(url is None or isinstance(url, str) for url in urls):
            raise ConfigError(f"base_url={base_url!r}: it must be a URL, or a list of URLs")
        pool = [find_backend(judge, base_url=url, api_key=api_key, timeout=timeout, headers=headers) for url in urls]
        return pool[0] if len(pool) == 1 else Pool(pool)
    if base_url is not None or api_key is not None or headers is not None:
        raise ConfigError("base_url, api_key and headers belong to a judge given by name, not to a Backend of your own")
    if isinstance(judge, type):
        raise ConfigError(f"judge={judge!r} is a class: make an instance of it")
    if callable(getattr(judge, "score_group", None)):
        raise ConfigError(f"judge={judge!r} is a judge already: call its own score_group(...)")
    if not callable(getattr(judge, "complete", None)):
        raise ConfigError(f"judge={judge!r} is neither a judge name nor a Backend (it has no method complete())")
    for name in ("endpoint", "model"):
        if not isinstance(value := getattr(judge, name, None), str):
            raise ConfigError(f"judge={judge!r}: its {name} must be text, not {value!r}; it names the judge in records")
    return full(judge)


def find_backend(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout: float = 120.0,
    headers: Mapping[str, str] | None = None,
) -> FullBackend:
    """Return the backend for a judge's name, without limits. ``timeout`` is in seconds per call, and ``headers`` are
    added to every request.

    ``name`` may end in ``@`` and a base URL, as in ``vllm/qwen3@http://gpu1:8000/v1``. Without ``base_url``, requests
    go to the address in the environment (OPENAI_BASE_URL ...), else to the provider's usual address.

    Raises ConfigError for an unknown name, a key that is not set, and an option that does not apply.
    """
    name, url_within = split_judge_name(name)
    if url_within is not None:
        if base_url is not None:
            raise ConfigError(f"{name} has a base URL behind its name: leave out base_url")
        base_url = url_within
    in_process = _in_process(name)
    if in_process is not None:
        if base_url is not None or api_key is not None or headers is not None:
            raise ConfigError(
                f"the judge {name!r} runs in this process: leave out base URL, key and headers, or name another judge"
            )
        return in_process
    _, slash, model = name.partition("/")
    if is_address(name) or not slash or not model or "/" in model.partition(",")[2]:
        raise ConfigError(_not_a_name(name))
    known = provider_of(name)
    if known is None:
        return _through_litellm(name, base_url, api_key=api_key, timeout=timeout, headers=headers)
    at, how = request_target(known, base_url=base_url, api_key=api_key), registry.BACKENDS.find(known)
    key_source = at.key_variable if at.key else f"{how.key} (it is not set)"
    key_source = key_source if api_key is None else "the api_key that was given"
    carried = {"headers": headers} if headers else {}
    backend = full(
        registry.load_object(how.backend)(
            model, base_url=at.url, api_key=at.key, timeout=timeout, api_key_env=key_source, **carried, **how.options
        )
    )
    _log_address(name, backend.endpoint, at.named_by)
    return backend


def _in_process(name: str) -> FullBackend | None:
    """Return the judge ``name`` or ``name:ARGUMENT`` that runs in this process, or None if there is none."""
    start, _, argument = name.partition(":")
    make = registry.BACKENDS.find(start) if "/" not in start and start in registry.BACKENDS else None
    if make is None or isinstance(make, Provider):
        return None
    arguments = (argument,) if argument else ()
    try:
        inspect.signature(make).bind(*arguments)
    except TypeError:
        form = f"{start} takes nothing behind its name" if argument else f"{start}: needs a file, as in {start}:FILE"
        raise ConfigError(form) from None
    return full(make(*arguments))


def _not_a_name(name: str) -> str:
    """Return what to write instead of a judge's ``name`` that is an address, or that lacks a provider or a model."""
    if is_address(name):
        return (
            f"{name_without_password(name)!r} is an address and not a judge name: write provider/model@ADDRESS, as in "
            "vllm/MODEL@http://localhost:8000/v1, where vllm stands for any OpenAI-compatible server"
        )
    if "/" in name.partition(",")[2]:
        return f"{name!r} is not a judge name: for a panel write --judge for each of them; in Python, a list"
    start, _, model = name.partition(":")
    if model and start in registry.BACKENDS:  # a judge in this process would have been made
        return f"{name!r} is not a judge name: did you mean {start}/{model}?"
    near = None if "/" in name or any(map(str.isdigit, name)) else registry.BACKENDS.nearest(name)
    if near is not None:
        near = f"{near}/MODEL" if isinstance(registry.BACKENDS.find(near), Provider) else near
    hint = "" if near is None else f"did you mean {near}? Else "
    example = name if name and "/" not in name else "qwen3-32b"
    return (
        f"{name!r} is not a judge name: {hint}write provider/model, as in openai/gpt-5-mini, or vllm/{example} for a "
        "server of your own"
    )


@lru_cache(maxsize=256)
def _log_address(name: str, endpoint: str, named_by: str | None) -> None:
    """Log, once a process, the address of a judge; as a warning if the environment set another address."""
    if named_by is None:
        _log.info("%s: requests go to %s", name, endpoint)
    else:
        _log.warning("%s: trajectories and the key are sent to %s, as %s says", name, endpoint, named_by)


def _through_litellm(name: str, base_url: str | None, **options: Any) -> FullBackend:
    """Return the judge of a provider that only LiteLLM supports, if installed; ``litellm/NAME`` always uses LiteLLM."""
    from calipers.backends.providers.litellm import INSTALL, LiteLLM  # noqa: PLC0415 - an extra

    provider, _, model = name.partition("/")
    if provider == "litellm":
        return LiteLLM(model, base_url=base_url, **options)
    if find_spec("litellm") is None:
        near, shown = nearest_provider(provider), name_without_password(name)
        model = shown.partition("/")[2]
        known = f"known: {', '.join(registry.BACKENDS.names())}." if near is None else f"did you mean {near}/{model}?"
        hint = "" if base_url is None else f" For an OpenAI-compatible server write vllm/{model} with its base URL."
        raise ConfigError(
            f"unknown provider {provider!r} in judge {shown!r}; {known}{hint} If LiteLLM knows it: {INSTALL}"
        )
    return LiteLLM(name, base_url=base_url, **options)
