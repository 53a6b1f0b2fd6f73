"""Names to things: strategies as ``module:attribute``, imported when first used, and judges by provider.

Not responsible for what a judge does once it is found.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from calipers.backends.pool import Pool
from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.judge_names import apart


@dataclass(frozen=True, slots=True)
class Method:
    """What goes together under the name of a judging protocol, each as ``module:attribute``.

    ``graded``: it checks criteria, and every part of it takes ``grading=``.
    """

    protocol: str
    planner: str
    aggregator: str
    reward: str
    graded: bool = False


METHODS: Final[Mapping[str, Method]] = {
    "listwise": Method(
        "calipers.protocols.listwise:Listwise",
        "calipers.planners.orders:Orders",
        "calipers.aggregators.two_way:two_way",
        "calipers.rewards.identity:Identity",
    ),
    "pairwise": Method(
        "calipers.protocols.pairwise:Pairwise",
        "calipers.planners.pairs:Pairs",
        "calipers.aggregators.bradley_terry:BradleyTerry",
        "calipers.rewards.win_rate:WinRate",
    ),
    "pointwise": Method(
        "calipers.protocols.pointwise:Pointwise",
        "calipers.planners.rounds:Rounds",
        "calipers.aggregators.two_way:two_way",
        "calipers.rewards.identity:Identity",
    ),
    "checklist": Method(
        "calipers.protocols.checklist:Checklist",
        "calipers.planners.criteria:Criteria",
        "calipers.aggregators.criteria:CriteriaScores",
        "calipers.rewards.rubric_range:RubricRange",
        graded=True,
    ),
}


ASPECTS: Final = "calipers.protocols.aspects:Aspects"
"""Listwise, where several aspects are scored apart."""

EXPECTED: Final[Mapping[str, str]] = {
    "listwise": "calipers.protocols.expected:ExpectedListwise",
    "pairwise": "calipers.protocols.expected:ExpectedPairwise",
    "pointwise": "calipers.protocols.expected:ExpectedPointwise",
}
"""The protocols whose scores can be expectations."""

REWARDS: Final[Mapping[str, str]] = {
    "score": "calipers.rewards.identity:Identity",
    "win_rate": "calipers.rewards.win_rate:WinRate",
    "rank": "calipers.rewards.rank:Rank",
    "min_max": "calipers.rewards.min_max:MinMax",
}


_CHAT = "calipers.backends.openai_compatible:OpenAICompatible"
_DECISIONS = "calipers.backends.decisions:Decisions"


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a provider's endpoint is, which variable holds its key, whether it needs one, and what is spoken there.

    ``backend`` is ``module:attribute``, called with the model, ``base_url``, ``api_key``, ``timeout``, ``api_key_env``
    and ``options``. ``base_url_env`` is a variable that may hold another address.
    """

    base_url: str
    key: str
    needs_key: bool = True
    backend: str = _CHAT
    options: Mapping[str, Any] = field(default_factory=dict)
    base_url_env: str | None = None


PROVIDERS: Final[Mapping[str, Provider]] = {
    "anthropic": Provider(
        "https://api.anthropic.com", "ANTHROPIC_API_KEY", backend="calipers.backends.anthropic:Anthropic"
    ),
    "azure": Provider(
        "https://RESOURCE.openai.azure.com",
        "AZURE_API_KEY",
        backend="calipers.backends.azure:azure_openai",
        base_url_env="AZURE_API_BASE",
    ),
    "cerebras": Provider("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "dashscope": Provider("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    "deepinfra": Provider("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "fireworks_ai": Provider("https://api.fireworks.ai/inference/v1", "FIREWORKS_AI_API_KEY"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "llamacpp": Provider("http://localhost:8080/v1", "LLAMA_API_KEY", needs_key=False),
    "lm_studio": Provider("http://localhost:1234/v1", "LM_STUDIO_API_KEY", needs_key=False),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "moonshot": Provider("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "ollama": Provider("http://localhost:11434/v1", "OLLAMA_API_KEY", needs_key=False),
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openai_decisions": Provider(
        "https://api.openai.com/v1", "OPENAI_API_KEY", backend=_DECISIONS, options={"route": "decisions"}
    ),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        # Without this a provider that knows no schemas may be chosen, and ignores the one asked for.
        options={"routing": {"provider": {"require_parameters": True}}},
    ),
    "sglang": Provider("http://localhost:30000/v1", "SGLANG_API_KEY", needs_key=False),
    "systemone": Provider("http://localhost:8080/v1", "SYSTEMONE_API_KEY", needs_key=False, backend=_DECISIONS),
    "together_ai": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "typesafe": Provider("https://api.typesafe.ai/v1", "TYPESAFE_API_KEY", backend=_DECISIONS),
    "vllm": Provider("http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY"),
}
ALIASES: Final[Mapping[str, str]] = {"hosted_vllm": "vllm", "ollama_chat": "ollama"}


def find_method(name: str) -> Method:
    """The parts of a judging protocol. Raises ConfigError naming the ones there are."""
    if name not in METHODS:
        raise ConfigError(f"unknown protocol {name!r}; this version has: {', '.join(sorted(METHODS))}")
    return METHODS[name]


def load(path: str) -> Any:
    """What ``module:attribute`` names, imported when it is first asked for."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def find_backend(
    name: str, *, base_url: str | None = None, api_key: str | None = None, timeout: float = 120.0
) -> Backend:
    """The bare backend a judge name stands for; nothing is contacted. ``timeout`` is in seconds a call.

    ``name`` may end in ``@`` and a base URL, as in ``vllm/qwen3@http://gpu1:8000/v1``.

    Raises ConfigError when the name is not known, its key is not set, or an option does not apply to it.
    """
    name, url_within = apart(name)
    if url_within is not None:
        if base_url is not None:
            raise ConfigError(f"{name} has a base URL behind its name already: leave base_url out")
        base_url = url_within
    scheme, _, rest = name.partition(":")
    if name == "embedded" or scheme in {"scripted", "replay"}:
        if base_url is not None or api_key is not None:
            raise ConfigError(f"the judge {name!r} runs in this process: base_url and api_key do not apply to it")
        return _local(scheme, rest)
    provider, slash, model = name.partition("/")
    provider = ALIASES.get(provider, provider)
    if not slash or not model:
        raise ConfigError(
            f"{name!r} is not a judge name: write provider/model, as in {_usual(provider if not slash else '')}, or "
            f"vllm/{name if name and not slash else 'qwen3-32b'} for a server of your own"
        )
    if provider not in PROVIDERS:
        return _through_litellm(name, base_url=base_url, api_key=api_key, timeout=timeout)
    known = PROVIDERS[provider]
    url, key = _endpoint(provider, base_url, api_key)
    made: Backend = load(known.backend)(
        model, base_url=url, api_key=key, timeout=timeout, api_key_env=known.key, **known.options
    )
    return made


def _through_litellm(name: str, *, base_url: str | None, api_key: str | None, timeout: float) -> Backend:
    """The judge of a provider that only LiteLLM knows, if it is installed; ``litellm/NAME`` is always its."""
    from calipers.backends.litellm import INSTALL, LiteLLM  # noqa: PLC0415 - an extra

    provider, _, model = name.partition("/")
    if provider == "litellm":
        return LiteLLM(model, base_url=base_url, api_key=api_key, timeout=timeout)
    if find_spec("litellm") is None:
        hint = "" if base_url is None else f" For an OpenAI-compatible server write vllm/{model} with its base URL."
        raise ConfigError(
            f"unknown provider {provider!r} in judge {name!r}; known: {', '.join(sorted(PROVIDERS))}.{hint} If LiteLLM "
            f"knows it: {INSTALL}"
        )
    return LiteLLM(name, base_url=base_url, api_key=api_key, timeout=timeout)


def _local(scheme: str, rest: str) -> Backend:
    if scheme == "embedded":
        from calipers.backends.embedded import Embedded  # noqa: PLC0415 - its model loads when used

        return Embedded()
    if not rest:
        raise ConfigError(f"{scheme}: needs a file, as in {scheme}:FILE")
    if scheme == "scripted":
        from calipers.backends.scripted import Scripted  # noqa: PLC0415 - for tests and demonstrations only

        return Scripted(Path(rest))
    from calipers.ledger import Replay  # noqa: PLC0415 - likewise

    return Replay(Path(rest))


def _endpoint(provider: str, base_url: str | None, api_key: str | None) -> tuple[str, str | None]:
    known = PROVIDERS[provider]
    key = api_key or os.environ.get(known.key)
    named = os.environ.get(known.base_url_env) if known.base_url_env else None
    url = base_url or named or known.base_url
    if known.needs_key and not key and base_url is None:
        raise ConfigError(
            f"{known.key} is not set, and {provider}/ judges need it: export {known.key}=..., "
            "or name a server of your own with a base URL, or try the embedded judge first."
        )
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"the base URL {url!r} does not begin with http:// or https://")
    return url.rstrip("/"), key


def _usual(name: str) -> str:
    makers = {
        "claude": "anthropic",
        "gpt": "openai",
        "o1": "openai",
        "o3": "openai",
        "o4": "openai",
        "gemini": "gemini",
        "deepseek": "deepseek",
    }
    maker = next((maker for start, maker in makers.items() if name.startswith(start)), "ollama")
    return f"{maker}/{name}" if name else "openai/gpt-5-mini"


def connect(
    judge: str | Backend, *, base_url: str | Sequence[str] | None, api_key: str | None, timeout: float
) -> Backend:
    """The backend a name stands for (a pool of them for several base URLs), or the caller's own.

    Raises ConfigError for a name that is not known, and for options that do not apply.
    """
    if isinstance(judge, str):
        urls = (base_url,) if base_url is None or isinstance(base_url, str) else tuple(base_url)
        found = [find_backend(judge, base_url=url, api_key=api_key, timeout=timeout) for url in urls]
        return found[0] if len(found) == 1 else Pool(found)
    if base_url is not None or api_key is not None:
        raise ConfigError("base_url and api_key belong to a judge given by name, not to a Backend of your own")
    if not callable(getattr(judge, "complete", None)):
        raise ConfigError(f"judge={judge!r} is neither a judge name nor a Backend (it has no complete method)")
    return judge
