"""A judge behind a server, for tests that train with TRL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from calipers import Judge
from servers.faulty_server import FaultyServer
from servers.opinions import Opinions, models


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyServer]:
    """A server with the model ``tiny``, which has no answers yet."""
    with FaultyServer() as running:
        models(running, "tiny")
        yield running


@pytest.fixture
def judge(server: FaultyServer) -> Judge:
    """A judge on ``server``, which answers with opinions of its own."""
    server.script(Opinions())
    return Judge("vllm/tiny", base_url=server.url, calls={"attempts": 1})
