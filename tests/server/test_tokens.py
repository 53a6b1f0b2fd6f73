"""Who sends a request: tokens from a file or the environment, and what a file of tokens may not say."""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="the server's packages are not installed: pip install 'calipers[server]'")

from calipers.errors import ConfigError
from calipers.server.tenants import tenant_named, tenants_from, token_of

LONG = "a-token-that-is-long-enough"


def test_without_tokens_there_is_one_tenant_whom_nobody_has_to_name() -> None:
    (only,) = tenants_from(None, {})
    assert (only.name, only.digest) == ("default", None)
    assert tenant_named((only,), None) is only


def test_a_token_of_the_environment_is_the_only_one() -> None:
    tenants = tenants_from(None, {"CALIPERS_SERVER_TOKEN": LONG})
    assert tenant_named(tenants, LONG) is tenants[0]
    assert [tenant_named(tenants, wrong) for wrong in (None, "", LONG + "x", LONG[:-1], "\ud800")] == [None] * 5


def test_tenants_are_told_apart_by_their_tokens_however_the_file_has_them(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(
        f'[ann]\ntoken-env = "ANN"\n[bob]\ntoken = "the-token-of-bob!"\n'
        f'budget = {{ usd = 5 }}\nledger = "b.db"\n[cleo]\ntoken = "{LONG}"\n',
        encoding="utf-8",
    )
    tenants = tenants_from(path, {"ANN": "the-token-of-ann!"})
    found = [tenant_named(tenants, token) for token in ("the-token-of-ann!", "the-token-of-bob!", LONG)]
    assert [one.name for one in found if one] == ["ann", "bob", "cleo"]
    assert (tenants[1].budget, tenants[1].ledger) == ({"usd": 5}, "b.db")
    assert LONG not in repr(tenants)


def test_a_token_is_a_bearers_or_a_password() -> None:
    cases = [
        (b"Bearer abc", "abc"),
        (b"bearer  abc ", "abc"),
        (b"Basic " + b64encode(b"calipers:abc"), "abc"),
        (b"Basic " + b64encode(b"abc:"), "abc"),
        (b"Basic " + b64encode(b"abc"), "abc"),
        (b"Basic \xff", None),
        (b"Digest abc", None),
        (b"abc", None),
        (None, None),
    ]
    assert [token_of(header) for header, _ in cases] == [token for _, token in cases]


def test_a_file_that_cannot_work_is_refused_with_its_place_and_never_its_token(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    wrong = []
    for text, said in [
        ("", r"tokens\.toml: has no tenant"),
        ("[ann", "not valid TOML"),
        ('ann = "x"', r"\[ann\]: Expected `object`"),
        ("[ann]", r"\[ann\]: must have one of token-env and token"),
        ('[ann]\ntoken = "short"', "at least 16 printable ASCII characters"),
        (f'[ann]\ntoken = "{LONG}"\nbudget = {{ usd = "x" }}', r"\[ann\]: .*float.*write .*budget = { usd"),
        (f'[ann]\ntoken = "{LONG}"\nbudget = {{ usdd = 5 }}', r"tokens\.toml: \[ann\]: .* it takes calls, tokens, usd"),
        ('[ann]\ntoken-env = "NOWHERE"', "the environment has no variable NOWHERE"),
        (f'[ann]\ntoken = "{LONG}"\nbuget = 3', "unknown field `buget`"),
        (f'["a b"]\ntoken = "{LONG}"', "letters, digits"),
        (f'[ann]\ntoken = "{LONG}"\n[bob]\ntoken = "{LONG}"', r"\[ann\] and \[bob\] have the same token"),
    ]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError) as caught:
            tenants_from(path, {})
        if LONG in str(caught.value) or not re.search(said, str(caught.value)):
            wrong.append((text, str(caught.value)))
    assert wrong == []
    with pytest.raises(ConfigError, match="the file of tokens cannot be read"):
        tenants_from(tmp_path / "none.toml", {})
