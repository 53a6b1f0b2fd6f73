"""The table of providers, and what the environment sets for each: address and key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from calipers import registry
from calipers.errors import ConfigError

_CHAT = "calipers.backends.providers.openai_compatible:OpenAICompatible"
_DECISIONS = "calipers.backends.providers.decisions:Decisions"

Environment: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of judges: its address, the variable of its key, whether it needs a key, and the backend for its API.

    ``backend`` is ``module:attribute``, called with the model, ``base_url``, ``api_key``, ``timeout``, ``api_key_env``,
    ``headers`` if there are any, and ``options``. For the key ``NAME_API_KEY``, the variables ``NAME_BASE_URL`` and
    ``NAME_API_BASE`` may hold another address. ``other_names`` stand for NAME as well.
    """

    base_url: str
    key: str
    needs_key: bool = True
    backend: str = _CHAT
    options: Mapping[str, Any] = field(default_factory=dict)
    other_names: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables that may hold the key."""
        return (self.key, *(f"{name}_API_KEY" for name in self.other_names))

    @property
    def addresses(self) -> tuple[str, ...]:
        """The variables that may hold another address of the provider."""
        names = (self.key.removesuffix("_API_KEY"), *self.other_names)
        return tuple(f"{name}_{kind}" for name in names for kind in ("BASE_URL", "API_BASE"))

    def named_address(self, environment: Environment) -> tuple[str, str] | None:
        """Return the environment's base URL with its variable, or None. Raises ConfigError for two that differ."""
        named = {name: value for name in self.addresses if (value := environment.get(name, "").strip())}
        if len({value.rstrip("/") for value in named.values()}) > 1:
            raise ConfigError(f"{' and '.join(named)} hold different addresses; unset all but one")
        return next(((value, name) for name, value in named.items()), None)


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """The address and key for requests to a judge. ``named_by`` is the variable with the address, if any, and
    ``key_variable`` the one with the key, or where it belongs.
    """

    url: str
    key: str | None
    key_variable: str
    named_by: str | None = None


def request_target(
    name: str, *, base_url: str | None = None, api_key: str | None = None, environment: Environment | None = None
) -> RequestTarget:
    """Return the address and key for requests to the provider ``name``.

    The address is ``base_url``, else the environment's address, else the usual one. Raises ConfigError for a missing
    key, and for an address that is not a URL.
    """
    variables = os.environ if environment is None else environment
    known: Provider = registry.BACKENDS.find(name)
    url, named_by = base_url, None
    if url is None:
        url, named_by = known.named_address(variables) or (known.base_url, None)
    key_variable = next((variable for variable in known.keys if variables.get(variable)), known.key)
    key = variables.get(key_variable) if api_key is None else api_key
    if known.needs_key and not key and base_url is None:
        raise ConfigError(
            f"{known.key} is not set, and {name}/ models need it: export {known.key}=..., or give the base URL of a "
            "server of your own (--base-url; in Python base_url)"
        )
    try:
        usable = urlsplit(url).scheme in {"http", "https"} and urlsplit(url).port != 0
    except ValueError:
        usable = False
    if not usable:
        shown = url[:100].rpartition("@")[2]  # without a password
        remedy = "write it as http://localhost:8000/v1" if url else "leave it out if none is meant"
        where = f"{named_by or 'the base URL'} is {shown!r}"
        raise ConfigError(f"{where}, which does not begin with http:// or https://; {remedy}")
    return RequestTarget(url.rstrip("/"), key, key_variable, named_by)


def nearest_provider(name: str) -> str | None:
    """Return the provider that ``name`` is probably a misspelling of, if any; a judge in this process is none."""
    near = registry.BACKENDS.nearest(name)
    return near if near is not None and isinstance(registry.BACKENDS.find(near), Provider) else None


def provider_of(judge: str) -> str | None:
    """Return the provider that a judge's name begins with, or None if it is none that is registered."""
    before, slash, _ = judge.partition("/")
    name = ALIASES.get(before, before)
    if not slash or name not in registry.BACKENDS:
        return None
    return name if isinstance(registry.BACKENDS.find(name), Provider) else None


PROVIDERS: Final[Mapping[str, Provider]] = {
    "anthropic": Provider(
        "https://api.anthropic.com", "ANTHROPIC_API_KEY", backend="calipers.backends.providers.anthropic:Anthropic"
    ),
    "cerebras": Provider("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "dashscope": Provider("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    "deepinfra": Provider("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "fireworks_ai": Provider(
        "https://api.fireworks.ai/inference/v1", "FIREWORKS_AI_API_KEY", other_names=("FIREWORKS",)
    ),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", other_names=("GOOGLE",)
    ),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "llamacpp": Provider("http://localhost:8080/v1", "LLAMA_API_KEY", needs_key=False, other_names=("LLAMACPP",)),
    "lm_studio": Provider("http://localhost:1234/v1", "LM_STUDIO_API_KEY", needs_key=False),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "moonshot": Provider("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "ollama": Provider("http://localhost:11434/v1", "OLLAMA_API_KEY", needs_key=False),
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openai_decisions": Provider(
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        backend="calipers.backends.providers.decisions:OpenAIDecisions",
    ),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        # Without this, OpenRouter may choose a provider without structured output, which ignores the schema.
        options={"routing": {"provider": {"require_parameters": True}}},
    ),
    "sglang": Provider("http://localhost:30000/v1", "SGLANG_API_KEY", needs_key=False),
    "systemone": Provider("http://localhost:8080/v1", "SYSTEMONE_API_KEY", needs_key=False, backend=_DECISIONS),
    "together_ai": Provider(
        "https://api.together.xyz/v1", "TOGETHER_API_KEY", other_names=("TOGETHER_AI", "TOGETHERAI")
    ),
    "typesafe": Provider("https://api.typesafe.ai/v1", "TYPESAFE_API_KEY", backend=_DECISIONS),
    "vllm": Provider("http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False, other_names=("HOSTED_VLLM",)),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY"),
}
ALIASES: Final[Mapping[str, str]] = {"hosted_vllm": "vllm", "ollama_chat": "ollama"}

BACKENDS: Final[Mapping[str, Provider | str]] = {
    **PROVIDERS,
    "embedded": "calipers.backends.embedded:Embedded",
    "local": "calipers.backends.local.judge:Local",
    "profile": "calipers.study.profiles.named:profile_judge",
    "replay": "calipers.ledger:Replay",
    "scripted": "calipers.backends.providers.scripted:Scripted",
}
"""Backends by the beginning of a judge's name: providers, and judges in this process (``name``, ``name:FILE``)."""
