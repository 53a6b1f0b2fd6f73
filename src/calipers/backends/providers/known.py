"""The table of providers: the address and the key variable of each, and what the environment sets for it.

The variables that a provider's own SDK and LiteLLM read (for another address, the key, headers) apply here, too, so
that judges are asked at the same server as the user's other tools. An address from the environment counts as chosen by
the user. Pure, except that it reads the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from calipers import registry
from calipers.errors import ConfigError

_CHAT = "calipers.backends.providers.openai_compatible:OpenAICompatible"
_DECISIONS = "calipers.backends.providers.decisions:Decisions"

Environment: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Address:
    """An environment variable that may hold another address for a provider.

    ``read`` turns the variable's value into a base URL, or None if the value names no address.
    """

    variable: str
    read: Callable[[str, Environment], str | None]


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of judges: its address, the variable of its key, whether it needs a key, and the backend for its API.

    ``backend`` is ``module:attribute``, called with the model, ``base_url``, ``api_key``, ``timeout``, ``api_key_env``,
    ``headers`` if the environment has any, and ``options``. ``addresses`` are variables that may hold another address;
    the first that is set counts. The variables ``other_keys`` may also hold the key, and the variables ``tokens`` a
    bearer token instead of a key. ``headers`` maps each header to the variable with its value; ``more_headers`` is a
    variable with lines of ``name: value``.
    """

    base_url: str
    key: str
    needs_key: bool = True
    backend: str = _CHAT
    options: Mapping[str, Any] = field(default_factory=dict)
    addresses: tuple[Address, ...] = ()
    other_keys: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    more_headers: str | None = None

    def credential(self, environment: Environment | None = None) -> str | None:
        """Return the name of the variable that holds the provider's key or token, or None if none is set."""
        variables = os.environ if environment is None else environment
        return next((name for name in (self.key, *self.other_keys, *self.tokens) if variables.get(name)), None)

    def named_address(self, environment: Environment | None = None) -> tuple[str, str] | None:
        """Return the provider's base URL from the environment, and the variable that holds it. Return None if none is
        set.

        Raises ConfigError for an address that cannot be read.
        """
        variables = os.environ if environment is None else environment
        for one in self.addresses:
            value = variables.get(one.variable, "").strip()
            try:
                url = one.read(value, variables) if value else None
                same = url is not None and _is_same_place(url, self.base_url)
            except ValueError as error:
                shown = value[:100].rpartition("@")[2]  # without a password
                raise ConfigError(f"{one.variable}={shown!r} is no address: {error}") from error
            if url is not None:
                return self.base_url if same else url.rstrip("/"), one.variable
        return None


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """The address, key and headers for requests to a judge. ``named_by`` is the variable with the address, if any."""

    url: str
    key: str | None
    headers: tuple[tuple[str, str], ...] = ()
    named_by: str | None = None


def request_target(
    name: str, *, base_url: str | None = None, api_key: str | None = None, environment: Environment | None = None
) -> RequestTarget:
    """Return the address, key and headers for requests to the provider ``name``.

    The address is ``base_url``, else the environment's address, else the usual one. Headers from the environment are
    sent only to the environment's or the provider's address, never to ``base_url``. Raises ConfigError for a missing
    key, and for an address that is not a URL.
    """
    variables = os.environ if environment is None else environment
    known: Provider = registry.BACKENDS.find(name)
    named = None if base_url is not None else known.named_address(variables)
    url = base_url if base_url is not None else named[0] if named else known.base_url
    named_by = named[1] if named else None
    credential = known.credential(variables)
    headers = {} if base_url is not None else _headers(known, variables)
    key = api_key
    if api_key is None and credential in known.tokens:
        headers["authorization"] = f"Bearer {variables[credential].strip()}"
    elif api_key is None and credential is not None:
        key = variables[credential]
    if known.needs_key and not key and credential is None and base_url is None:
        raise ConfigError(
            f"{known.key} is not set, and {name}/ judges need it: export {known.key}=..., "
            "or name a server of your own with a base URL, or try the embedded judge first."
        )
    if not url.startswith(("http://", "https://")):
        where = f"{named_by} says {url!r}, which" if named_by else f"the base URL {url!r}"
        raise ConfigError(
            f"{where} does not begin with http:// or https://{'' if url else '; leave it out if none is meant'}"
        )
    return RequestTarget(url.rstrip("/"), key, tuple(headers.items()), named_by)


def provider_of(judge: str) -> str | None:
    """Return the provider that a judge's name begins with, or None if the name does not begin with a registered
    provider.
    """
    before, slash, _ = judge.partition("/")
    name = ALIASES.get(before, before)
    if not slash or name not in registry.BACKENDS:
        return None
    return name if isinstance(registry.BACKENDS.find(name), Provider) else None


def _headers(known: Provider, variables: Environment) -> dict[str, str]:
    """Return the request headers that the environment sets.

    They come from single variables and from the lines of a further variable, as the provider's SDK reads them.
    """
    lines = variables.get(known.more_headers, "").split("\n") if known.more_headers else []
    more = {
        name.strip().lower(): value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon
    }
    single = {header: variables[name] for header, name in known.headers.items() if variables.get(name)}
    return {**single, **more}


# --- how the environment's addresses are read -------------------------------------------------------------------------


def _unchanged(value: str, _: Environment) -> str:
    return value


def _append_path(path: str) -> Callable[[str, Environment], str]:
    """Return a function that appends ``path`` to an address, as the provider's SDK does, without repeating what is
    there.
    """

    def read(value: str, _: Environment) -> str:
        url, parts = value.rstrip("/"), path.strip("/").split("/")
        begun = ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
        there = next((len(one.split("/")) for one in begun if url.endswith(f"/{one}")), 0)
        return "/".join([url, *parts[there:]])

    return read


def _with_v1(value: str, _: Environment) -> str:
    """Return a server's address with ``/v1``, which the variable may omit."""
    return f"{value.rstrip('/')}/v1" if not urlsplit(value).path.strip("/") else value


def _ollama_host(value: str, _: Environment) -> str:
    """Return the base URL in OLLAMA_HOST as Ollama's client reads it: scheme, port and path may be missing.

    An address that means all interfaces (``0.0.0.0``) becomes the loopback address.
    """
    scheme, apart, rest = value.partition("://")
    if not apart:
        scheme, rest = "http", value
    parts = urlsplit(f"{scheme}://{rest}")
    port = parts.port or (None if apart else 11434)  # a URL with a scheme and no port uses the port of its scheme
    host = _ANY.get(parts.hostname or "", parts.hostname) or "127.0.0.1"
    shown = f"[{host}]" if ":" in host else host
    base = f"{scheme}://{shown}" + (f":{port}" if port not in {None, _USUAL_PORTS.get(scheme)} else "")
    path = parts.path.strip("/")
    return "/".join([base, *([path] if path else []), *([] if path.endswith("v1") else ["v1"])])


_ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where a server listens on all, and nothing binds here
_USUAL_PORTS: Final = {"http": 80, "https": 443}
_NATIVE, _COMPATIBLE = "/api/v1", "/compatible-mode/v1"
_WORKSPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}")
_REGIONS = frozenset({"ap-southeast-1", "us-east-1", "cn-hongkong", "eu-central-1", "ap-northeast-1"})


def _dashscope_native(value: str, _: Environment) -> str:
    """Return DashScope's OpenAI-compatible address for an address of DashScope's own API. Others stay unchanged."""
    url = value.rstrip("/")
    return url.removesuffix(_NATIVE) + _COMPATIBLE if url.endswith(_NATIVE) else url


def _dashscope_region(value: str, variables: Environment) -> str | None:
    """Return the address of a workspace in a DashScope region, or None for regions without addresses per workspace."""
    if value not in _REGIONS:
        return None
    workspace = variables.get("DASHSCOPE_WORKSPACE_ID", "")
    if not _WORKSPACE.fullmatch(workspace):
        raise ValueError("that region's addresses begin with a workspace, and DASHSCOPE_WORKSPACE_ID names none")
    return f"https://{workspace}.{value}.maas.aliyuncs.com{_COMPATIBLE}"


def _is_same_place(url: str, usual: str) -> bool:
    """Return whether two addresses are the same port of this machine, so that a server has one name in a ledger."""
    one, other = urlsplit(url), urlsplit(usual)
    loopback = {"localhost", "127.0.0.1", "::1"}
    alike = (one.scheme, one.port, one.path.rstrip("/")) == (other.scheme, other.port, other.path.rstrip("/"))
    return alike and one.hostname in loopback and other.hostname in loopback


def _addresses(*names: str, then: str = "") -> tuple[Address, ...]:
    """Return the addresses in the variables of a provider's own SDK (the first of ``names``) and of LiteLLM (the
    others).

    The SDK appends ``then`` to its address. LiteLLM does not.
    """
    own, *others = names
    return (Address(own, _append_path(then) if then else _unchanged), *(Address(name, _unchanged) for name in others))


def _server(*names: str) -> tuple[Address, ...]:
    return tuple(Address(name, _with_v1) for name in names)


_OPENAI: Final[Mapping[str, Any]] = {
    "addresses": _addresses("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "headers": {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"},
    "more_headers": "OPENAI_CUSTOM_HEADERS",
}

PROVIDERS: Final[Mapping[str, Provider]] = {
    "anthropic": Provider(
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        backend="calipers.backends.providers.anthropic:Anthropic",
        addresses=_addresses("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"),
        tokens=("ANTHROPIC_AUTH_TOKEN",),
        more_headers="ANTHROPIC_CUSTOM_HEADERS",
    ),
    "azure": Provider(
        "https://RESOURCE.openai.azure.com",
        "AZURE_API_KEY",
        backend="calipers.backends.providers.azure:azure_openai",
        addresses=_addresses("AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE"),
        other_keys=("AZURE_OPENAI_API_KEY",),
        tokens=("AZURE_OPENAI_AD_TOKEN", "AZURE_AD_TOKEN"),
    ),
    "cerebras": Provider(
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        addresses=_addresses("CEREBRAS_BASE_URL", "CEREBRAS_API_BASE", then="v1"),
        more_headers="CEREBRAS_CUSTOM_HEADERS",
    ),
    "dashscope": Provider(
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        addresses=(
            *_addresses("DASHSCOPE_COMPATIBLE_BASE_URL", "DASHSCOPE_BASE_URL", "DASHSCOPE_API_BASE"),
            Address("DASHSCOPE_HTTP_BASE_URL", _dashscope_native),
            Address("DASHSCOPE_API_REGION", _dashscope_region),
        ),
    ),
    "deepinfra": Provider(
        "https://api.deepinfra.com/v1/openai",
        "DEEPINFRA_API_KEY",
        addresses=_addresses("DEEPINFRA_API_BASE", "DEEPINFRA_BASE_URL"),
    ),
    "deepseek": Provider(
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        addresses=_addresses("DEEPSEEK_API_BASE", "DEEPSEEK_BASE_URL"),
    ),
    "fireworks_ai": Provider(
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_AI_API_KEY",
        addresses=_addresses(
            "FIREWORKS_BASE_URL", "FIREWORKS_API_BASE", "FIREWORKS_AI_API_BASE", "FIREWORKS_AI_BASE_URL", then="v1"
        ),
        other_keys=("FIREWORKS_API_KEY",),
        more_headers="FIREWORKS_CUSTOM_HEADERS",
    ),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        addresses=(
            Address("GOOGLE_GEMINI_BASE_URL", _append_path("v1beta/openai")),
            Address("GEMINI_API_BASE", _append_path("v1beta/openai")),
            Address("GEMINI_BASE_URL", _append_path("v1beta/openai")),
        ),
        other_keys=("GOOGLE_API_KEY",),
    ),
    "groq": Provider(
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        addresses=_addresses("GROQ_BASE_URL", "GROQ_API_BASE", then="openai/v1"),
        more_headers="GROQ_CUSTOM_HEADERS",
    ),
    "llamacpp": Provider(
        "http://localhost:8080/v1",
        "LLAMA_API_KEY",
        needs_key=False,
        addresses=_server("LLAMACPP_API_BASE", "LLAMACPP_BASE_URL"),
    ),
    "lm_studio": Provider(
        "http://localhost:1234/v1",
        "LM_STUDIO_API_KEY",
        needs_key=False,
        addresses=_server("LM_STUDIO_API_BASE", "LM_STUDIO_BASE_URL"),
    ),
    "mistral": Provider(
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        addresses=_addresses("MISTRAL_API_BASE", "MISTRAL_BASE_URL"),
    ),
    "moonshot": Provider(
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        addresses=_addresses("MOONSHOT_API_BASE", "MOONSHOT_BASE_URL"),
    ),
    "ollama": Provider(
        "http://localhost:11434/v1",
        "OLLAMA_API_KEY",
        needs_key=False,
        addresses=(Address("OLLAMA_HOST", _ollama_host), *_server("OLLAMA_API_BASE", "OLLAMA_BASE_URL")),
    ),
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", **_OPENAI),
    "openai_decisions": Provider(
        "https://api.openai.com/v1", "OPENAI_API_KEY", backend=_DECISIONS, options={"route": "decisions"}, **_OPENAI
    ),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        # Without this, OpenRouter may choose a provider without structured output, which ignores the schema.
        options={"routing": {"provider": {"require_parameters": True}}},
        addresses=_addresses("OPENROUTER_API_BASE", "OPENROUTER_BASE_URL"),
    ),
    "sglang": Provider(
        "http://localhost:30000/v1",
        "SGLANG_API_KEY",
        needs_key=False,
        addresses=_server("SGLANG_API_BASE", "SGLANG_BASE_URL"),
    ),
    "systemone": Provider(
        "http://localhost:8080/v1",
        "SYSTEMONE_API_KEY",
        needs_key=False,
        backend=_DECISIONS,
        addresses=_server("SYSTEMONE_API_BASE", "SYSTEMONE_BASE_URL"),
    ),
    "together_ai": Provider(
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        addresses=_addresses("TOGETHER_BASE_URL", "TOGETHER_AI_API_BASE", "TOGETHER_AI_BASE_URL", then="v1"),
        other_keys=("TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY"),
        more_headers="TOGETHER_CUSTOM_HEADERS",
    ),
    "typesafe": Provider(
        "https://api.typesafe.ai/v1",
        "TYPESAFE_API_KEY",
        backend=_DECISIONS,
        addresses=_addresses("TYPESAFE_API_BASE", "TYPESAFE_BASE_URL"),
    ),
    "vllm": Provider(
        "http://localhost:8000/v1",
        "VLLM_API_KEY",
        needs_key=False,
        addresses=_server("HOSTED_VLLM_API_BASE", "VLLM_API_BASE", "VLLM_BASE_URL"),
        other_keys=("HOSTED_VLLM_API_KEY",),
    ),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY", addresses=_addresses("XAI_API_BASE", "XAI_BASE_URL")),
}
ALIASES: Final[Mapping[str, str]] = {"hosted_vllm": "vllm", "ollama_chat": "ollama"}

BACKENDS: Final[Mapping[str, Provider | str]] = {
    **PROVIDERS,
    "embedded": "calipers.backends.embedded:Embedded",
    "local": "calipers.backends.local:Local",
    "profile": "calipers.study.profiles.named:profile_judge",
    "replay": "calipers.ledger:Replay",
    "scripted": "calipers.backends.providers.scripted:Scripted",
}
"""Backends by the beginning of a judge's name: providers, and judges in this process (``name``, ``name:FILE``)."""
