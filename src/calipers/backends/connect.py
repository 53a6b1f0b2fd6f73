"""Turns a judge's name into the backend that sends requests to that judge. No server is contacted."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Final

from calipers import registry
from calipers.backends.limits.pool import Pool
from calipers.backends.names import is_address, name_without_password, split_judge_name
from calipers.backends.providers.known import Provider, provider_of, request_target
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
        options = {"api_key": api_key, "timeout": timeout, "headers": headers}
        found = [find_backend(judge, base_url=url, **options) for url in urls]  # type: ignore[arg-type]
        return found[0] if len(found) == 1 else Pool(found)
    if base_url is not None or api_key is not None or headers is not None:
        raise ConfigError("base_url, api_key and headers belong to a judge given by name, not to a Backend of your own")
    _require_backend(judge)
    return full(judge)


def _require_backend(judge: object) -> None:
    """Raise ConfigError unless a caller's own ``judge`` has what a Backend must have."""
    if callable(getattr(judge, "score_group", None)) and not isinstance(judge, type):
        raise ConfigError(f"judge={judge!r} is a judge already: call its own score_group(...)")
    if not callable(getattr(judge, "complete", None)):
        raise ConfigError(f"judge={judge!r} is neither a judge name nor a Backend (it has no complete method)")
    if isinstance(judge, type):
        raise ConfigError(f"judge={judge!r} is a class: make an instance of it")
    for name in ("endpoint", "model"):
        if not isinstance(value := getattr(judge, name, None), str):
            raise ConfigError(f"judge={judge!r}: its {name} must be text, not {value!r}; it names the judge in records")


def find_backend(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout: float = 120.0,
    headers: Mapping[str, str] | None = None,
) -> FullBackend:
    """Return the backend for a judge's name, without wrappers. ``timeout`` is in seconds per call, and ``headers`` are
    added to every request.

    ``name`` may end in ``@`` and a base URL, as in ``vllm/qwen3@http://gpu1:8000/v1``. Without ``base_url``, requests
    go to the address in the environment (OPENAI_BASE_URL, OLLAMA_HOST ...), else to the provider's usual address.

    Raises ConfigError for an unknown name, a key that is not set, and an option that does not apply.
    """
    name, url_within = split_judge_name(name)
    if url_within is not None:
        if base_url is not None:
            raise ConfigError(f"{name} has a base URL behind its name already: leave base_url out")
        base_url = url_within
    in_process = _in_process(name)
    if in_process is not None:
        if base_url is not None or api_key is not None or headers is not None:
            raise ConfigError(
                f"the judge {name!r} runs in this process: base_url, api_key and headers do not apply to it"
            )
        return in_process
    if is_address(name):
        shown = name_without_password(name)
        raise ConfigError(
            f"{shown!r} is an address and not a judge name: write provider/model@ADDRESS, as in "
            "vllm/MODEL@http://localhost:8000/v1, where vllm stands for any OpenAI-compatible server"
        )
    provider, slash, model = name.partition("/")
    if not slash or not model:
        if (written := _with_slash(name)) is not None:
            raise ConfigError(f"{name!r} is not a judge name: did you mean {written}?")
        example = _example_name("" if slash else provider)
        near = None if slash else _near(provider)
        meant = "" if near is None else f"did you mean {_as_written(near)}? Else "
        raise ConfigError(
            f"{name!r} is not a judge name: {meant}write provider/model, as in {example}, or "
            f"vllm/{name if name and not slash else 'qwen3-32b'} for a server of your own"
        )
    known = provider_of(name)
    if known is None:
        if headers is not None:
            raise ConfigError(
                f"headers: {name} is asked through LiteLLM, which takes none; pass extra_headers in params"
            )
        return _through_litellm(name, base_url=base_url, api_key=api_key, timeout=timeout)
    at, how = request_target(known, base_url=base_url, api_key=api_key), registry.BACKENDS.find(known)
    carried = {"headers": {**dict(at.headers), **(headers or {})}} if at.headers or headers else {}
    made = full(
        registry.load_object(how.backend)(
            model, base_url=at.url, api_key=at.key, timeout=timeout, api_key_env=how.key, **carried, **how.options
        )
    )
    _log_address(name, made.endpoint, at.named_by)
    return made


def _in_process(name: str) -> FullBackend | None:
    """Return the judge ``name`` or ``name:ARGUMENT`` that runs in this process, or None if there is none with this
    name.
    """
    start, _, argument = name.partition(":")
    if "/" in start or start not in registry.BACKENDS:
        return None
    make = registry.BACKENDS.find(start)
    if isinstance(make, Provider):
        return None
    given = (argument,) if argument else ()
    try:
        inspect.signature(make).bind(*given)
    except TypeError:
        form = f"{start} takes nothing behind its name" if argument else f"{start}: needs a file, as in {start}:FILE"
        raise ConfigError(form) from None
    return full(make(*given))


@lru_cache(maxsize=256)
def _log_address(name: str, endpoint: str, named_by: str | None) -> None:
    """Log, once a process, the address of a judge; as a warning if the environment set another address."""
    if named_by is None:
        _log.info("%s is asked at %s", name, endpoint)
    else:
        _log.warning("%s is asked at %s, as %s says", name, endpoint, named_by)


def _through_litellm(name: str, *, base_url: str | None, api_key: str | None, timeout: float) -> FullBackend:
    """Return the judge of a provider that only LiteLLM supports, if installed; ``litellm/NAME`` always uses LiteLLM."""
    from calipers.backends.providers.litellm import INSTALL, LiteLLM  # noqa: PLC0415 - an extra

    provider, _, model = name.partition("/")
    if provider == "litellm":
        return LiteLLM(model, base_url=base_url, api_key=api_key, timeout=timeout)
    if find_spec("litellm") is None:
        near, shown = registry.BACKENDS.nearest(provider), name_without_password(name)
        model = shown.partition("/")[2]
        known = f"known: {', '.join(registry.BACKENDS.names())}." if near is None else f"did you mean {near}/{model}?"
        hint = "" if base_url is None else f" For an OpenAI-compatible server write vllm/{model} with its base URL."
        raise ConfigError(
            f"unknown provider {provider!r} in judge {shown!r}; {known}{hint} If LiteLLM knows it: {INSTALL}"
        )
    return LiteLLM(name, base_url=base_url, api_key=api_key, timeout=timeout)


def _as_written(start: str) -> str:
    """Return how the name of a judge of this provider, or of this judge in the process, is written."""
    return f"{start}/MODEL" if isinstance(registry.BACKENDS.find(start), Provider) else start


def _with_slash(name: str) -> str | None:
    """Return a judge's name with the slash that was written as a colon; None if there is no such colon."""
    start, _, model = name.partition(":")
    is_provider = start in registry.BACKENDS and isinstance(registry.BACKENDS.find(start), Provider)
    return f"{start}/{model}" if model and is_provider else None


def _near(name: str) -> str | None:
    """Return the provider or judge that a name without a slash resembles; None for a model's name, such as llama3."""
    is_model = _maker(name) is not None or any(map(str.isdigit, name))
    return None if is_model else registry.BACKENDS.nearest(name)


_MAKERS: Final = {
    "claude": "anthropic", "gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "gemini-": "gemini",
    "deepseek-": "deepseek",
}  # fmt: skip


def _maker(name: str) -> str | None:
    """Return the provider of the models whose names begin like ``name``."""
    return next((maker for start, maker in _MAKERS.items() if name.startswith(start)), None)


def _example_name(name: str) -> str:
    return f"{_maker(name) or 'ollama'}/{name}" if name else "openai/gpt-5-mini"
