"""Ledgers in SQLite and in Postgres, for tests that hold for both."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

from servers.postgres_server import PostgresServer, programs

_NUMBERS = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A Postgres server of the tests' own."""
    if find_spec("asyncpg") is None:
        pytest.skip("asyncpg is not installed: pip install 'calipers[postgres]'")
    if programs() is None:
        pytest.skip("there is no Postgres server (initdb): apt-get install postgresql")
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """The address of a ledger that no other test uses."""
    return postgres.url(f"ledger_{next(_NUMBERS)}")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new ledger, in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return str(request.getfixturevalue("postgres_url"))
