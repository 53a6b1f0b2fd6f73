"""The table of providers, and what the environment sets for each: address and key.

The variables that a provider's own SDK and LiteLLM read apply here, too, so that judges are asked at the same server as
the user's other tools. An address from the environment counts as chosen by the user.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from calipers import registry
from calipers.errors import ConfigError

_CHAT = "calipers.backends.providers.openai_compatible:OpenAICompatible"
_DECISIONS = "calipers.backends.providers.decisions:Decisions"
_THIS_MACHINE = frozenset({None, "localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104 - nothing binds here

Environment: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of judges: its address, the variable of its key, whether it needs a key, and the backend for its API.

    ``backend`` is ``module:attribute``, called with the model, ``base_url``, ``api_key``, ``timeout``, ``api_key_env``,
    ``headers`` if there are any, and ``options``. The variables ``other_keys`` may also hold the key, and the variables
    ``tokens`` a bearer token instead of a key. Variables that may hold another address are those in ``variables``, and
    for the key ``NAME_API_KEY`` also ``NAME_BASE_URL`` and ``NAME_API_BASE``.
    """

    base_url: str
    key: str
    needs_key: bool = True
    backend: str = _CHAT
    options: Mapping[str, Any] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    other_keys: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        """The variables that may hold another address of the provider. The first that is set counts."""
        start = self.key.removesuffix("_API_KEY")
        return (*self.variables, f"{start}_BASE_URL", f"{start}_API_BASE")

    def named_address(self, environment: Environment) -> tuple[str, str] | None:
        """Return the provider's base URL from the environment, and the variable that holds it. Return None if none is
        set.

        Raises ConfigError for an address that cannot be read.
        """
        name = next((address for address in self.addresses if environment.get(address, "").strip()), None)
        if name is None:
            return None
        value = environment[name].strip()
        try:
            return _completed(value, self), name
        except ValueError as error:
            shown = value[:100].rpartition("@")[2]  # without a password
            raise ConfigError(f"{name}={shown!r} is no address: {error}") from error


def _completed(address: str, known: Provider) -> str:
    """Return a provider's address from the environment with what may be missing from it: the usual path, and, for a
    server of one's own (as in OLLAMA_HOST), scheme, host and port. This machine gets one name, for ledgers.

    Raises ValueError for what is no address.
    """
    usual, own = urlsplit(known.base_url), not known.needs_key
    bare = own and "://" not in address
    parts = urlsplit(f"http://{address}" if bare else address)
    place, port = parts.netloc, parts.port
    if own and parts.hostname in _THIS_MACHINE and "@" not in place:
        place = "localhost" if port is None else f"localhost:{port}"
    if bare and port is None:
        place = f"{place}:{usual.port}"
    return urlunsplit((parts.scheme, place, parts.path.rstrip("/") or usual.path, parts.query, ""))


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """The address, key and headers for requests to a judge. ``key_source`` says where the key is from; ``named_by`` is
    the variable with the address, if any.
    """

    url: str
    key: str | None
    key_source: str
    headers: tuple[tuple[str, str], ...] = ()
    named_by: str | None = None


def request_target(
    name: str, *, base_url: str | None = None, api_key: str | None = None, environment: Environment | None = None
) -> RequestTarget:
    """Return the address, key and headers for requests to the provider ``name``.

    The address is ``base_url``, else the environment's address, else the usual one. Raises ConfigError for a missing
    key, and for an address that is not a URL.
    """
    variables = os.environ if environment is None else environment
    known: Provider = registry.BACKENDS.find(name)
    url, named_by = base_url, None
    if url is None:
        url, named_by = known.named_address(variables) or (known.base_url, None)
    names = (known.key, *known.other_keys, *known.tokens)
    credential = next((name for name in names if variables.get(name)), None)
    key, headers = api_key, tuple[tuple[str, str], ...]()
    if api_key is None and credential in known.tokens:
        headers = (("authorization", f"Bearer {variables[credential].strip()}"),)
    elif api_key is None and credential is not None:
        key = variables[credential]
    if known.needs_key and not key and credential is None and base_url is None:
        raise ConfigError(
            f"{known.key} is not set, and {name}/ models need it: export {known.key}=..., or name a server of your own "
            "with a base URL"
        )
    if not url.startswith(("http://", "https://")):
        where = f"{named_by} says {url!r}, which" if named_by else f"the base URL {url!r}"
        raise ConfigError(
            f"{where} does not begin with http:// or https://{'' if url else '; leave it out if none is meant'}"
        )
    source = credential or f"{known.key}, which is not set" if api_key is None else "the api_key that was given"
    return RequestTarget(url.rstrip("/"), key, source, headers, named_by)


def nearest_provider(name: str) -> str | None:
    """Return the provider that ``name`` is probably a misspelling of, if any; a judge in this process is none."""
    near = registry.BACKENDS.nearest(name)
    return near if near is not None and isinstance(registry.BACKENDS.find(near), Provider) else None


def provider_of(judge: str) -> str | None:
    """Return the provider that a judge's name begins with, or None if the name does not begin with a registered
    provider.
    """
    before, slash, _ = judge.partition("/")
    name = ALIASES.get(before, before)
    if not slash or name not in registry.BACKENDS:
        return None
    return name if isinstance(registry.BACKENDS.find(name), Provider) else None


PROVIDERS: Final[Mapping[str, Provider]] = {
    "anthropic": Provider(
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        backend="calipers.backends.providers.anthropic:Anthropic",
        tokens=("ANTHROPIC_AUTH_TOKEN",),
    ),
    "azure": Provider(
        "https://RESOURCE.openai.azure.com",
        "AZURE_API_KEY",
        backend="calipers.backends.providers.openai_compatible:Azure",
        variables=("AZURE_OPENAI_ENDPOINT",),
        other_keys=("AZURE_OPENAI_API_KEY",),
        tokens=("AZURE_OPENAI_AD_TOKEN", "AZURE_AD_TOKEN"),
    ),
    "cerebras": Provider("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "dashscope": Provider(
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        variables=("DASHSCOPE_COMPATIBLE_BASE_URL",),
    ),
    "deepinfra": Provider("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "fireworks_ai": Provider(
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_AI_API_KEY",
        variables=("FIREWORKS_BASE_URL", "FIREWORKS_API_BASE"),
        other_keys=("FIREWORKS_API_KEY",),
    ),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        variables=("GOOGLE_GEMINI_BASE_URL",),
        other_keys=("GOOGLE_API_KEY",),
    ),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "llamacpp": Provider(
        "http://localhost:8080/v1",
        "LLAMA_API_KEY",
        needs_key=False,
        variables=("LLAMACPP_API_BASE", "LLAMACPP_BASE_URL"),
    ),
    "lm_studio": Provider("http://localhost:1234/v1", "LM_STUDIO_API_KEY", needs_key=False),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "moonshot": Provider("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "ollama": Provider("http://localhost:11434/v1", "OLLAMA_API_KEY", needs_key=False, variables=("OLLAMA_HOST",)),
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
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        variables=("TOGETHER_BASE_URL", "TOGETHER_AI_API_BASE"),
        other_keys=("TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY"),
    ),
    "typesafe": Provider("https://api.typesafe.ai/v1", "TYPESAFE_API_KEY", backend=_DECISIONS),
    "vllm": Provider(
        "http://localhost:8000/v1",
        "VLLM_API_KEY",
        needs_key=False,
        variables=("HOSTED_VLLM_API_BASE",),
        other_keys=("HOSTED_VLLM_API_KEY",),
    ),
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
