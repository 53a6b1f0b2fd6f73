"""Where the providers' own SDKs ask, by the same environment: held against where judges of that provider are asked.

The SDKs are no dependency: ``.ci/engines`` installs them and runs this. They are built and asked for their address,
which contacts nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from calipers.backends.providers.known import request_target


def _sdk(module: str, client: str) -> Callable[[], str]:
    return lambda: str(getattr(import_module(module), client)().base_url)


def _ollama() -> str:
    client: Any = import_module("ollama").Client()
    return str(client._client.base_url)


_GATEWAY = "https://gw.example"
_SDKS: dict[str, tuple[str, Callable[[], str], str, list[str]]] = {
    "openai": ("openai", _sdk("openai", "OpenAI"), "OPENAI_BASE_URL", [f"{_GATEWAY}/v1/", f"{_GATEWAY}/deep/"]),
    "anthropic": ("anthropic", _sdk("anthropic", "Anthropic"), "ANTHROPIC_BASE_URL", [_GATEWAY, f"{_GATEWAY}/deep/"]),
    "groq": ("groq", _sdk("groq", "Groq"), "GROQ_BASE_URL", [_GATEWAY]),
    "cerebras": ("cerebras", _sdk("cerebras.cloud.sdk", "Cerebras"), "CEREBRAS_BASE_URL", [_GATEWAY]),
    "together_ai": ("together", _sdk("together", "Together"), "TOGETHER_BASE_URL", [_GATEWAY]),
    "ollama": ("ollama", _ollama, "OLLAMA_HOST", ["gpu1", "gpu1:8", "http://gpu1", "[fd00::1]"]),
}
"""The package, what it says where it asks, the variable that says it to both, and values of the variable."""
_BEHIND = {"groq": "/openai/v1", "cerebras": "/v1", "together_ai": "/v1", "ollama": "/v1"}
"""What the SDK puts behind its base URL in the path of a chat completion (Ollama: where its OpenAI-compatible half
is).
"""


def _here(package: str) -> Any:
    reason = f"{package}'s SDK is not installed (.ci/engines)"
    return pytest.mark.skipif(find_spec(package) is None, reason=reason)


@pytest.mark.parametrize(
    ("provider", "value"),
    [
        pytest.param(name, value, marks=_here(package))
        for name, (package, _, _, values) in _SDKS.items()
        for value in values
    ],
)
def test_judges_are_asked_where_the_providers_sdk_asks(
    monkeypatch: pytest.MonkeyPatch, provider: str, value: str
) -> None:
    _, base_url, variable, _ = _SDKS[provider]
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY", "CEREBRAS_API_KEY", "TOGETHER_API_KEY"):
        monkeypatch.setenv(name, "k")
    monkeypatch.setenv(variable, value)
    theirs = base_url().rstrip("/") + _BEHIND.get(provider, "")
    assert request_target(provider).url == theirs
