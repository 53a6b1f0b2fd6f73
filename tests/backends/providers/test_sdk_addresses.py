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


_GATEWAY = "https://gw.example"
_SDKS: dict[str, tuple[str, Callable[[], str], str, list[str]]] = {
    "openai": ("openai", _sdk("openai", "OpenAI"), "OPENAI_BASE_URL", [f"{_GATEWAY}/v1/", f"{_GATEWAY}/deep/"]),
    "anthropic": ("anthropic", _sdk("anthropic", "Anthropic"), "ANTHROPIC_BASE_URL", [_GATEWAY, f"{_GATEWAY}/deep/"]),
}
"""The package, what it says where it asks, the variable that says it to both, and values of the variable."""


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
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "k")
    monkeypatch.setenv(variable, value)
    assert request_target(provider).url == base_url().rstrip("/")
