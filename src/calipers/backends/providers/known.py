"""The table of providers, and what the environment sets for each: address, key, headers, a ``.env`` file.

The variables that a provider's own SDK and LiteLLM read apply here, too, so that judges are asked at the same server as
the user's other tools. An address from the environment counts as chosen by the user.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
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
    ``tokens`` a bearer token instead of a key. ``headers`` maps each header to the variable with its value. Variables
    that may hold another address are those in ``variables``, and for the key ``NAME_API_KEY`` also ``NAME_BASE_URL``
    and ``NAME_API_BASE``.
    """

    base_url: str
    key: str
    needs_key: bool = True
    backend: str = _CHAT
    options: Mapping[str, Any] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    other_keys: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The variables that may hold another address of the provider. The first that is set counts."""
        name = self.key.removesuffix("_API_KEY")
        return (*self.variables, f"{name}_BASE_URL", f"{name}_API_BASE")

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
        name = next((one for one in self.addresses if variables.get(one, "").strip()), None)
        if name is None:
            return None
        value = variables[name].strip()
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
    url, named_by, headers = base_url, None, dict[str, str]()
    if url is None:
        url, named_by = known.named_address(variables) or (known.base_url, None)
        headers = {header: variables[held] for header, held in known.headers.items() if variables.get(held)}
    credential = known.credential(variables)
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


_VARIABLE: Final = re.compile(
    r"""(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?:"([^"\\]*)"|'([^']*)'|((?!["']).*?))\s*(?:(?<=[\s="'])#.*)?"""
)


def use_env_file(path: str | Path, environment: MutableMapping[str, str] = os.environ) -> None:
    """Set the variables of a ``.env`` file that the environment does not have yet, for judges' keys and addresses.

    A line is ``NAME=value``, perhaps with ``export``, quotes or a comment. Raises ConfigError with file and line for
    anything else, and never shows a value.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{path}: the file of variables cannot be read: {why}") from None
    values: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            variable = _VARIABLE.fullmatch(line.strip())
            if variable is None or "\0" in line or "${" in (variable[2] or variable[4] or ""):
                raise ConfigError(
                    f"{path}:{number}: is no variable; write NAME=value without references or escapes, or # before a "
                    "comment"
                )
            values[variable[1]] = variable[2] or variable[3] or variable[4] or ""
    for name, value in values.items():
        environment.setdefault(name, value)


_OPENAI_HEADERS: Final = {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"}

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
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", headers=_OPENAI_HEADERS),
    "openai_decisions": Provider(
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        backend="calipers.backends.providers.decisions:OpenAIDecisions",
        headers=_OPENAI_HEADERS,
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
