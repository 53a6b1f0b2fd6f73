"""What holds for every test: no network but loopback, no home folder, keys or settings of whoever runs them."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from calipers.backends.providers.known import PROVIDERS
from servers.faulty_server import FaultyServer

_OF_PROVIDERS = {name for one in PROVIDERS.values() for name in one.addresses}


def _is_loopback(host: object) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    return name is None or (isinstance(name, str) and (name in {"", "localhost", "::1"} or name.startswith("127.")))


def _stay_on_loopback(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse as a machine without a network would. An audit hook, so that nothing needs to be patched."""
    if event == "socket.connect" and isinstance(arguments[1], tuple) and not _is_loopback(arguments[1][0]):
        raise ConnectionRefusedError(f"tests stay on loopback, and do not connect to {arguments[1][0]}")
    if event == "socket.getaddrinfo" and not _is_loopback(arguments[0]):
        raise socket.gaierror(socket.EAI_NONAME, f"tests stay on loopback, and do not look up {arguments[0]!r}")


def pytest_addoption(parser: pytest.Parser) -> None:
    help_ = "a file of tests that passed in an earlier environment: they are left out, and those that pass are added"
    parser.addoption("--passed", type=Path, help=help_)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed before: an engine's environment runs only what was skipped without the engine."""
    path = config.getoption("--passed")
    passed = set(path.read_text(encoding="utf-8").splitlines()) if path and path.exists() else set()
    left_out = [item for item in items if item.nodeid in passed]
    items[:] = [item for item in items if item.nodeid not in passed]
    config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was left out, a line for each reason."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, times in reasons.most_common(19):
        terminalreporter.write_line(f"left out {times:>4}: {reason[:150]}")
    if len(reasons) > 19:
        terminalreporter.write_line(f"left out for {len(reasons) - 19} more reasons: pytest -rs says which")


class _Passed:
    """Adds the tests that pass to a file, from the process that hears of all of them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")


def pytest_configure(config: pytest.Config) -> None:
    # A shell's background jobs ignore SIGINT, and all processes that they start; tests interrupt programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # How long an example takes says how busy the machine is; what must be quick has a test or a benchmark of its own.
    settings.register_profile("search", deadline=None)
    # The plain tests draw the same examples each time, so that they fail for a change only; .ci/slow draws new ones.
    settings.register_profile("calipers", deadline=None, derandomize=True)
    settings.load_profile("calipers")
    sys.addaudithook(_stay_on_loopback)
    path = config.getoption("--passed")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Passed(path.absolute()))


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
