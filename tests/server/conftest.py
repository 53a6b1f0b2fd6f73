"""Where the server's tests record, and the judge that it asks."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from http_judge import worth
from servers.faulty_server import FaultyServer
from servers.ledgers import location, postgres, postgres_url

__all__ = ["location", "postgres", "postgres_url"]

collect_ignore_glob = [] if all(map(find_spec, ("msgspec", "starlette", "uvicorn"))) else ["test_*.py"]
"""Without the packages of ``calipers[server]``, no test of the server is collected."""


@pytest.fixture
def faulty(faulty: FaultyServer) -> FaultyServer:
    """A judge that gives attempts what they say they are worth, until a test scripts another."""
    faulty.script(worth())
    return faulty
