"""What holds for every test: no network but loopback, no home folder, keys or settings of whoever runs them."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from calipers.backends.providers.known import PROVIDERS
from servers.faulty_server import FaultyServer

_OF_PROVIDERS = {
    name
    for one in PROVIDERS.values()
    for name in (*(address.variable for address in one.addresses), *one.tokens, *one.headers.values(), one.more_headers)
    if name is not None
} | {"AZURE_API_VERSION", "OPENAI_API_VERSION", "DASHSCOPE_WORKSPACE_ID"}


def _is_loopback(host: object) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    return name is None or (isinstance(name, str) and (name in {"", "localhost", "::1"} or name.startswith("127.")))


def _stay_on_loopback(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse as a machine without a network would. An audit hook, so that nothing needs to be patched."""
    if event == "socket.connect" and isinstance(arguments[1], tuple) and not _is_loopback(arguments[1][0]):
        raise ConnectionRefusedError(f"tests stay on loopback, and do not connect to {arguments[1][0]}")
    if event == "socket.getaddrinfo" and not _is_loopback(arguments[0]):
        raise socket.gaierror(socket.EAI_NONAME, f"tests stay on loopback, and do not look up {arguments[0]!r}")


def pytest_configure() -> None:
    # A shell's background jobs ignore SIGINT, and all processes that they start; tests interrupt programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # How long an example takes says how busy the machine is; what must be quick has a test or a benchmark of its own.
    settings.register_profile("calipers", deadline=None)
    settings.load_profile("calipers")
    sys.addaudithook(_stay_on_loopback)


@pytest.fixture(autouse=True)
def _stranger(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A user without a past: an empty home, no keys, no proxies, no settings in the environment."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    for name in list(os.environ):
        kept = name == "CALIPERS_DATA"
        ours = name.startswith("CALIPERS_") or name in _OF_PROVIDERS
        if not kept and (ours or name.upper().endswith(("_API_KEY", "_PROXY"))):
            monkeypatch.delenv(name)


@pytest.fixture
def faulty() -> Iterator[FaultyServer]:
    """A server that answers, or fails to, as the test scripts it."""
    with FaultyServer() as server:
        yield server


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file with random weights, for llama.cpp's own server."""
    for needed in ("xllamacpp", "gguf", "tokenizers"):
        pytest.importorskip(needed, reason=f"{needed} is not installed: pip install xllamacpp gguf tokenizers")
    from servers import tiny_gguf  # noqa: PLC0415 - needs the packages looked for above

    return tiny_gguf.build(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="session")
def llama(tiny_model: Path) -> Iterator[str]:
    """The base URL of llama.cpp's own server with random weights: four slots of 4,096 tokens."""
    from servers.llama_server import llama_server  # noqa: PLC0415 - likewise

    with llama_server(tiny_model) as url:
        yield url
