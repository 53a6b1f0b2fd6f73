"""Who sends a request: tokens from a file or the environment, and what a file of tokens may not say."""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path

import pytest

from calipers.errors import ConfigError
from calipers.server.tenants import ledgers_of, tenant_with, tenants_from, token_of

LONG = "a-token-that-is-long-enough"


def test_a_server_has_one_tenant_or_those_of_its_file_and_tells_them_apart_by_their_tokens(tmp_path: Path):
    (only,) = tenants_from(None, {})
    assert (only.name, only.digest, tenant_with(None, [only])) == ("default", None, only)
    named = tenants_from(None, {"CALIPERS_SERVER_TOKEN": LONG})
    assert tenant_with(LONG, named) is named[0]
    assert [tenant_with(wrong, named) for wrong in (None, "", LONG + "x", LONG[:-1], "\ud800")] == [None] * 5
    path = tmp_path / "tokens.toml"
    path.write_text('ann = "ANN"\nbob = "BOB"\n', encoding="utf-8")
    tenants = tenants_from(path, {"ANN": LONG, "BOB": "the-token-of-bob!"})
    assert [tenant_with(token, tenants) for token in (LONG, "the-token-of-bob!")] == list(tenants)
    assert [one.name for one in tenants] == ["ann", "bob"]
    assert LONG not in repr(tenants)
    assert ledgers_of(tenants, "runs/l.db") == {"ann": "runs/ann.l.db", "bob": "runs/bob.l.db"}
    assert ledgers_of(named, "l.db") == {"default": "l.db"}
    with pytest.raises(ConfigError, match="several tenants cannot share a ledger in Postgres"):
        ledgers_of(tenants, "postgresql://ann:s3cret@db/rewards")


def test_a_token_is_a_bearers_or_a_password():
    basic = {name: f"Basic {b64encode(name.encode()).decode()}" for name in ("calipers:abc", "abc:", "abc")}
    sent = ("Bearer abc", "bearer  abc ", *basic.values())
    assert [token_of(one) for one in sent] == ["abc"] * 5
    assert [token_of(one) for one in ("Basic \xff", "Digest abc", "abc", None)] == [None] * 4


def test_a_file_that_cannot_work_is_refused_with_its_place_and_never_its_token(tmp_path: Path):
    path = tmp_path / "tokens.toml"
    environ = {"LONG": LONG, "SHORT": "short", "AGAIN": LONG}
    wrong = []
    for text, reason in [
        ("", r"tokens\.toml: has no tenant"),
        ("[ann", "not valid TOML"),
        ('[ann]\ntoken = "x"', r"tokens\.toml: ann: write the name of the environment variable"),
        (f'ann = "{LONG}"', "write the name of the environment variable"),
        ('ann = "SHORT"', "at least 16 printable ASCII characters"),
        ('"a b" = "LONG"', "letters, digits"),
        ('ann = "LONG"\nbob = "AGAIN"', "ann and bob have the same token"),
    ]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError) as caught:
            tenants_from(path, environ)
        if LONG in str(caught.value) or not re.search(reason, str(caught.value)):
            wrong.append((text, str(caught.value)))
    assert wrong == []
    with pytest.raises(ConfigError, match=r"none\.toml: the file of tokens cannot be read: No such file"):
        tenants_from(tmp_path / "none.toml", {})
