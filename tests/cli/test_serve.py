"""``calipers serve`` as a user starts it: what it says, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from calipers.cli import app
from calipers.errors import ConfigError

PACKAGES = ("msgspec", "uvicorn")


def needs_packages() -> None:
    for name in PACKAGES:
        pytest.importorskip(name, reason="the server's packages are not installed: pip install 'calipers[server]'")


def post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url + "/v1/rollouts", json.dumps(body).encode())  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310 - likewise
        return json.load(reply)


def test_it_serves_answers_ends_on_sigterm_and_answers_again_after_a_restart(tmp_path: Path) -> None:
    needs_packages()
    bodies = [
        {"group_id": "g", "group_size": 2, "index": n, "messages": [{"role": "assistant", "content": text}]}
        for n, text in enumerate(("It is 56, because 7 times 8 is 56.", "I refuse to say."))
    ]
    found = []
    for _ in range(2):
        command = [sys.executable, "-m", "calipers", "serve", "--port", "0"]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("Serving at http://127.0.0.1:"), line
            assert "no token is needed" in line
            url = line.split()[2]
            with ThreadPoolExecutor(2) as pool:
                found.append(list(pool.map(partial(post, url), bodies)))
            process.send_signal(signal.SIGTERM)
            said = process.stderr.read()
            assert process.wait(20) == 0, said
            assert "Stopped." in said
            assert "Traceback" not in said
    assert found[0] == found[1]
    assert {one["status"] for one in found[0]} == {"scored"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "nobody would need a token"),  # noqa: S104 - it is refused
        (["--host", "192.0.2.1"], "nobody would need a token"),
        (["--tokens", "none.toml"], "the file of tokens cannot be read"),
        (["--judge", "gpt-5-mini"], "write provider/model"),
        (["--ledger", "no/folder/x.db"], "no/folder/x.db"),
    ],
)
def test_what_cannot_work_is_one_sentence_before_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    needs_packages()
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["serve", "--port", "0", *arguments])
    assert said in str(result.exception), result.output
    assert isinstance(result.exception, Exception)


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "msgspec", None)
    result = CliRunner().invoke(app, ["serve"])
    assert isinstance(result.exception, ConfigError)
    assert str(result.exception) == "the server needs msgspec: pip install 'calipers[server]'"
    assert not list(tmp_path.iterdir())


def test_a_tenants_budget_in_dollars_for_a_judge_without_a_price_names_file_and_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_packages()
    monkeypatch.chdir(tmp_path)
    Path("tokens.toml").write_text('[ann]\ntoken = "a-token-that-is-long-enough"\nbudget = { usd = 5 }\n')
    asked = ("--judge", "vllm/nobodys", "--base-url", "http://127.0.0.1:9/v1", "--tokens", "tokens.toml")
    result = CliRunner().invoke(app, ["serve", *asked])
    assert isinstance(result.exception, ConfigError)
    assert str(result.exception).startswith("tokens.toml: [ann]: a budget in dollars needs the price of 'nobodys'")


def test_a_port_that_is_taken_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_packages()
    from calipers.server.running import bound_socket  # noqa: PLC0415 - needs the packages looked for above

    monkeypatch.chdir(tmp_path)
    with bound_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(app, ["serve", "--port", port])
    assert f"--host 127.0.0.1 --port {port}: the address cannot be used" in str(result.exception)


def test_the_password_of_a_ledger_is_never_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_packages()
    monkeypatch.chdir(tmp_path)
    from calipers.server.tenants import TenantSettings, ledgers_of  # noqa: PLC0415 - needs the packages

    same = "postgresql://ann:s3cret@db/rewards"
    tenants = [TenantSettings(name, name.encode(), ledger=same) for name in ("ann", "bob")]
    with pytest.raises(ConfigError, match="two tenants have the ledger postgresql://ann@db/rewards;"):
        ledgers_of(tenants, None)
    spelled = [TenantSettings(place, place.encode(), ledger=place) for place in ("l.db", "./l.db")]
    with pytest.raises(ConfigError, match=r"two tenants have the ledger \./l\.db"):
        ledgers_of(spelled, None)


@pytest.mark.parametrize("place", [".", "/", "folder", "text.db"])
def test_a_ledger_that_cannot_be_one_is_a_sentence_and_leaves_no_file(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_packages()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("This is no database, but a text of many words." * 9, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    from calipers.errors import LedgerError  # noqa: PLC0415 - beside its use
    from calipers.server.tenants import only_server_of  # noqa: PLC0415 - needs the packages

    with pytest.raises(LedgerError), only_server_of([place]):
        pass
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("flag", ["--drain", "--group-deadline"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_seconds_that_are_no_finite_number_are_refused_with_the_flags_name(flag: str, value: str) -> None:
    needs_packages()
    done = CliRunner().invoke(app, ["serve", flag, value])
    assert done.exit_code == 2, done.output
    assert f"'{flag}': {value} is not a finite number" in done.output
