"""``calipers serve`` as a user starts it: what it says, and how it ends."""

from __future__ import annotations

import json
import signal
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command_line import Calipers, mismatches, started


def needs_packages() -> None:
    for name in ("msgspec", "starlette", "uvicorn"):
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
        with started(tmp_path, "serve", "--port", 0) as process:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("Serving at http://127.0.0.1:"), line
            assert "no token is needed" in line
            with ThreadPoolExecutor(2) as pool:
                found.append(list(pool.map(partial(post, line.split()[2]), bodies)))
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=20)[1]
            assert process.returncode == 0, said
            assert ("Stopped." in said, "Traceback" in said) == (True, False), said
    assert found[0] == found[1]
    assert {one["status"] for one in found[0]} == {"scored"}


def test_what_cannot_work_is_one_sentence_before_it_serves(tmp_path: Path, calipers: Calipers) -> None:
    needs_packages()
    from calipers.server.running import bound_socket  # noqa: PLC0415 - needs the packages looked for above

    (tmp_path / "text.db").write_text("This is no database, but a text of many words." * 9, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    unpriced = ("--judge", "vllm/m", "--base-url", "http://127.0.0.1:9/v1", "--budget", "usd=5")
    with bound_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        cases: list[tuple[tuple[str, ...], str]] = [
            (("--host", "0.0.0.0"), "nobody would need a token"),  # noqa: S104 - it is refused
            (("--tokens", "none.toml"), "none.toml: the file of tokens cannot be read: No such file"),
            (unpriced, "a budget in dollars needs the price of 'm'"),
            (("--judge", "gpt-5-mini"), "write provider/model"),
            (("--ledger", "no/folder/x.db"), "no/folder/x.db"),
            (("--ledger", "."), "folder"),
            (("--ledger", "text.db"), "text.db"),
            (("--port", port), f"--host 127.0.0.1 --port {port}: the address cannot be used"),
            (("--drain", "nan"), "'--drain': nan is not a finite number"),
            (("--group-deadline", "inf"), "'--group-deadline': inf is not a finite number"),
        ]
        assert mismatches(calipers, [(("serve", "--port", "0", *flags), words) for flags, words in cases]) == []
    assert sorted(path for path in tmp_path.iterdir() if ".ledger" not in path.name) == before


def test_without_its_packages_it_says_what_to_install(
    calipers: Calipers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "msgspec", None)
    needed = "the server needs msgspec: pip install 'calipers[server]'"
    assert mismatches(calipers, [(("serve",), needed)]) == []
    assert not list(tmp_path.iterdir())
