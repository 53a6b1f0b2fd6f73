"""Addresses of ledgers in Postgres: how they are read and named, without a server."""

from __future__ import annotations

import sys

import pytest

from calipers.errors import LedgerError
from calipers.ledger import open_ledger, read_ledger
from calipers.ledger.opening import Address


def test_an_address_is_named_without_its_secrets():
    secrets = ("p4ss", "p4ss%40word", "a%2Fb%23c")
    for secret in secrets:
        found = Address.of(f"postgresql://me:{secret}@db.example:5433/judges?schema=team_a&sslmode=require")
        assert found.name == "postgresql://me@db.example:5433/judges?schema=team_a"
        assert found.schema == "team_a"
        assert found.dsn == f"postgresql://me:{secret}@db.example:5433/judges?sslmode=require"
        assert secret not in repr(found)
    assert Address.of("postgres://db/judges").name == "postgresql://db/judges"
    assert Address.of("postgresql:///judges?host=/run/postgresql&password=p4ss").name == "postgresql:///judges"
    assert Address.of("postgresql://a,b:5433/judges").name == "postgresql://a,b:5433/judges"
    assert Address.of("postgresql://me@[::1]:5433/judges").name == "postgresql://me@[::1]:5433/judges"


def test_an_address_that_cannot_be_read_is_not_repeated():
    for location in (
        "postgresql://me:p4ss/word@db/judges",
        "postgresql://me:p4ss#word@db/judges",
        "postgresql://db:p4ss/judges",
        "postgresql://me:p4ss@db/judges?schema=p4ss; DROP",
    ):
        with pytest.raises(LedgerError) as told:
            open_ledger(location)
        assert "p4ss" not in str(told.value).replace("schema=p4ss%3B%20DROP", "")


def test_without_the_driver_it_is_one_sentence_with_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    for opened in (open_ledger, read_ledger):
        with pytest.raises(LedgerError, match=r"me@db/judges: .* pip install 'calipers\[postgres\]'"):
            opened("postgresql://me:p4ss@db/judges")
