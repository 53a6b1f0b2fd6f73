"""The served report: who gets it, what it says about itself, and groups that appear while one reads."""

import asyncio
import base64
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import calipers
from calipers.errors import ConfigError
from calipers.ledger import Ledger
from calipers.report.serving import ReportServer, ServedReport
from calipers.testing import SimulatedJudge
from groups import FOUR, QUALITY, group_of
from report_browser import Browser
from reported import data_of, member, report_of, result_of, write_lines

PLACE = "return [document.querySelector('.list').scrollTop, document.querySelector('main').scrollTop]"

pytestmark = pytest.mark.timeout(300)


async def run_over(ledger: Path, ids: range) -> None:
    async with calipers.Judge(SimulatedJudge(QUALITY), ledger=ledger) as judge:
        groups = [group_of(FOUR, group_id=f"g{n}", question=f"{n}?") for n in ids]
        async for _ in judge.score_groups(groups, ordered=True, concurrency=1):
            pass


def record_further(ledger: Path, ids: range) -> None:
    """Record further groups in run 1, as a run that goes on does: copies of its first group under other names."""
    with_ledger = Ledger(ledger)
    source, result = with_ledger.rows("SELECT source, result FROM groups WHERE run = 1 AND position = 0")[0]
    for n in ids:
        named = [text.replace('"group_id":"g0"', f'"group_id":"g{n}"') for text in (source, result)]
        with_ledger.insert("INSERT INTO groups VALUES (1, ?, ?, ?, ?)", (n, f"g{n}", *named))
    with_ledger.close()


def written(ledger: Path, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The rows of a statement that changes or reads the tables of a ledger."""
    with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
        return connection.execute(statement, values).fetchall()


@contextmanager
def serving(*paths: Path, **options: Any) -> Iterator[ReportServer]:
    served = ServedReport([str(path) for path in paths], on_error=print, **options)
    with ReportServer(served) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """The ledger of a run over three groups."""
    path = tmp_path / "runs.db"
    asyncio.run(run_over(path, range(3)))
    return path


def asked(server: ReportServer, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, {name.lower(): value for name, value in reply.getheaders()}, body


def test_the_page_comes_only_with_the_secret_and_under_the_servers_own_name(ledger: Path):
    with serving(ledger) as server:
        assert server.server_address[0] == "127.0.0.1"
        page = urlsplit(server.address).path
        status, headers, body = asked(server, page)
        assert status == 200
        assert b"x-calipers-details" in body
        for path in ("/", "/groups?run=1&after=0", f"/{'x' * 22}/", f"{page}../", f"{page}etc/passwd", "//"):
            status, _, body = asked(server, path)
            assert status == 404, path
            assert b"g0" not in body
        assert b"that calipers report --serve printed" in asked(server, "/")[2]
        for host in ("evil.example", f"evil.example:{server.server_port}", "127.0.0.1", ""):
            status, _, body = asked(server, page, Host=host)
            assert status == 403, host
            assert len(body) < 100
        assert asked(server, page, Host=f"localhost:{server.server_port}")[0] == 200
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers
    assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("line", [
    b"GET http://[::1 HTTP/1.1", b"GET http://evil.example/ HTTP/1.1", b"POST @/ HTTP/1.1",
    b"GET @/views?page=0 HTTP/1.1", b"GET @/views?page=%EF%BC%91 HTTP/1.1", b"GET @/groups?run=1&after= HTTP/0.9",
    b"\x16\x03\x01\x02\x00", b"GET @/" + b"a" * 70_000 + b" HTTP/1.1", b"GET /\xff\xfe/ HTTP/1.1",
    b"GET @/%2e%2e/ HTTP/1.1",
])  # fmt: skip
def test_a_request_that_makes_no_sense_is_refused_and_nothing_is_printed(
    ledger: Path, capfd: pytest.CaptureFixture[str], line: bytes
):
    with serving(ledger) as server:
        own = urlsplit(server.address).path.rstrip("/").encode()
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as connection:
            connection.sendall(line.replace(b"@", own) + b"\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.server_port)
            connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                assert b"x-calipers-details" not in b"".join(iter(lambda: connection.recv(65536), b""))
        assert asked(server, urlsplit(server.address).path)[0] == 200, "it still serves"
    assert capfd.readouterr().err == ""


def test_the_policy_is_that_of_the_file_and_adds_its_own_server(ledger: Path, tmp_path: Path):
    from calipers.report.scripts import page_policy  # noqa: PLC0415 - for this test only

    with serving(ledger) as server:
        _, headers, body = asked(server, urlsplit(server.address).path)
    assert headers["content-security-policy"] == f"{page_policy(live=True)}; frame-ancestors 'none'"
    assert page_policy(live=True).replace("connect-src 'self'; ", "") == page_policy()
    assert page_policy(live=True) in body.decode()


def test_news_are_the_groups_after_a_number_with_their_details(ledger: Path):
    with serving(ledger) as server:
        news = f"{urlsplit(server.address).path}groups"
        first = json.loads(asked(server, f"{news}?run=1&after=0")[2])
        assert [row["id"] for row in first["rows"]] == ["g0", "g1", "g2"]
        details = zlib.decompress(base64.b64decode(first["details"])).split(b"\n")
        assert [json.loads(details[row["line"]])["id"] for row in first["rows"]] == ["g0", "g1", "g2"]
        record_further(ledger, range(3, 5))
        second = json.loads(asked(server, f"{news}?run=1&after={first['cursor']}")[2])
        assert [row["id"] for row in second["rows"]] == ["g3", "g4"]
        third = json.loads(asked(server, f"{news}?run=1&after={second['cursor']}")[2])
        assert (third["rows"], third["cursor"], third["latest"]) == ([], second["cursor"], 1)
        asyncio.run(run_over(ledger, range(1)))
        fourth = json.loads(asked(server, f"{news}?run=1&after={third['cursor']}")[2])
        assert (fourth["rows"], fourth["latest"]) == ([], 2)
        for query in ("run=1&after=x", "run=1", "run=1&after=-1", "run=1&after=99999999999999999999"):
            assert asked(server, f"{news}?{query}")[0] == 400
        status, _, body = asked(server, f"{news}?run=7&after=0")
        assert (status, "has no run 7" in json.loads(body)["error"]) == (503, True)


def test_redacted_news_hold_no_text(ledger: Path):
    with serving(ledger, redact=True) as server:
        news = json.loads(asked(server, f"{urlsplit(server.address).path}groups?run=1&after=0")[2])
    details = zlib.decompress(base64.b64decode(news["details"]))
    assert b"I cannot add numbers" not in details
    assert b"I cannot add numbers" not in json.dumps(news["rows"]).encode()


def test_a_result_file_is_served_and_not_followed(tmp_path: Path):
    results = write_lines(tmp_path / "scored.jsonl", [result_of("one", member("a"))])
    with serving(results) as server:
        path = urlsplit(server.address).path
        assert asked(server, path)[0] == 200
        assert asked(server, f"{path}groups?run=1&after=0")[0] == 404
        results.unlink()
        status, _, body = asked(server, path)
        assert (status, b"scored.jsonl" in body) == (503, True)


def test_a_port_that_is_taken_is_named(ledger: Path):
    with (
        serving(ledger) as server,
        pytest.raises(ConfigError, match=f"--port {server.server_port}: cannot be used"),
    ):
        ReportServer(server.report, port=server.server_port)


def test_the_command_prints_the_address_and_ends_with_ctrl_c(ledger: Path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CALIPERS_")}
    with subprocess.Popen(
        [sys.executable, "-m", "calipers", "report", str(ledger), "--serve"], stderr=subprocess.PIPE, text=True,
        env=environment,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        address = urlsplit(process.stderr.readline().strip())
        assert address.hostname == "127.0.0.1"
        connection = http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=60)
        connection.request("GET", address.path)
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said.endswith("Stopped serving.\n")


def test_new_groups_appear_and_the_reader_keeps_the_place(browser: Browser, tmp_path: Path):
    path = tmp_path / "runs.db"
    asyncio.run(run_over(path, range(1)))
    record_further(path, range(1, 40))
    with serving(path) as server:
        browser.driver.get(f"{server.address}#group=g20")
        browser.until("document.querySelector('main')?.dataset.group === 'g20'")
        browser.run("document.querySelector('.list').scrollTop = 500; document.querySelector('main').scrollTop = 30")
        browser.run("document.querySelector('main').firstElementChild.dataset.mine = 'same'")
        top = browser.run(PLACE)
        record_further(path, range(40, 50))
        browser.until("document.querySelector('header.top').innerText.includes('50 groups')")
        assert browser.run("return document.querySelector('main').firstElementChild.dataset.mine") == "same"
        assert top == browser.run(PLACE)
        browser.run("location.hash = '#group=g45'")
        browser.group("g45")
        assert "I cannot add numbers" in browser.text("main")

        # A filter stays, too: new groups that it refuses are not in the list.
        browser.run(
            "const one = document.querySelector('nav.groups input');"
            "one.value = 'g49'; one.dispatchEvent(new Event('input'))"
        )
        browser.until("document.querySelectorAll('.row').length === 1")
        record_further(path, range(50, 52))
        browser.until("document.querySelector('header.top').innerText.includes('52 groups')")
        assert browser.texts(".row-head .name") == ["g49"]
        asyncio.run(run_over(path, range(1)))
        browser.until("document.querySelector('.live').innerText.includes('Run 2 has begun')")
    browser.until("document.querySelector('.live').innerText.includes('The server has ended')")
    severe = [one["message"] for one in browser.driver.get_log("browser") if "Content Security" in one["message"]]
    assert severe == []


def test_views_are_those_of_a_page_written_now(ledger: Path, tmp_path: Path):
    with serving(ledger) as server:
        address = urlsplit(server.address).path
        (page,) = re.findall(rb'x-calipers-about">([^<]*)<', asked(server, address)[2])
        live = json.loads(zlib.decompress(base64.b64decode(page)))["live"]
        views = f"{address}views?page={live['page']}"
        record_further(ledger, range(3, 9))
        for at in (9, 40):
            record_further(ledger, range(at, at + 1))
            known = json.loads(asked(server, views)[2])
            written = data_of(report_of(tmp_path, ledger))
            assert known["judge"] == written["judge"]
            assert known["run"][0]["at"][-1] == len(written["rows"])
            for key in ("facts", "counts", "alarms", "steady", "examples"):
                assert known["run"][0][key] == written["run"][0][key], key
        for query, status in (("page=x", 400), ("", 400), ("page=77", 410)):
            assert asked(server, f"{address}views?{query}")[0] == status
        for _ in range(8):
            asked(server, address)
        status, _, body = asked(server, views)
        assert (status, "load it again" in json.loads(body)["error"]) == (410, True)


def test_the_run_and_its_judges_are_followed_and_what_one_has_chosen_stays(browser: Browser, tmp_path: Path):
    path = tmp_path / "runs.db"
    asyncio.run(run_over(path, range(1)))
    record_further(path, range(1, 16))
    with serving(path) as server:
        browser.driver.get(f"{server.address}#view=run")
        browser.until("document.querySelector('.fact-list')?.innerText.includes('16')")
        browser.click(".chart .series", "judge's reward")
        browser.click(".chart details summary")
        browser.run("document.activeElement.blur()")
        rows = "document.querySelectorAll('.chart .numbers-table tbody tr').length"
        assert browser.run(f"return {rows}") == 2
        record_further(path, range(16, 40))
        browser.until("document.querySelector('.fact-list').innerText.includes('40')")
        browser.until(f"{rows} === 5")
        assert browser.run("return document.querySelector('.chart .series').getAttribute('aria-pressed')") == "false"

        # Nothing is drawn anew under a reader's hands.
        browser.run("document.querySelector('.chart .series').focus()")
        record_further(path, range(40, 50))
        browser.until("document.querySelector('header.top').innerText.includes('50 groups')")
        assert "40" in browser.text(".fact-list")
        browser.run("location.hash = '#view=judge'")
        browser.until("document.querySelector('main.judges')?.innerText.includes('50 groups')")
        record_further(path, range(50, 52))
        browser.until("document.querySelector('main.judges').innerText.includes('52 groups')")


def test_views_appear_in_a_page_of_a_run_without_groups(browser: Browser, tmp_path: Path):
    path = tmp_path / "runs.db"
    asyncio.run(run_over(path, range(1)))
    (row,) = written(path, "SELECT * FROM groups")
    written(path, "DELETE FROM groups")
    with serving(path) as server:
        browser.driver.get(server.address)
        browser.until("document.querySelector('.live')")
        assert browser.texts("nav.views a") == ["Groups", "Run"]
        assert "No group is finished yet" in browser.text("nav.groups")
        written(path, "INSERT INTO groups VALUES (?, ?, ?, ?, ?)", row)
        browser.until("document.querySelector('nav.views').innerText.includes('Judge')")
        assert browser.texts("nav.views a") == ["Groups", "Judge", "Run"]


def test_a_hostile_group_that_comes_while_one_reads_runs_nothing(browser: Browser, tmp_path: Path):
    path = tmp_path / "runs.db"
    asyncio.run(run_over(path, range(1)))
    attack = "</script><script>window.ran=1</script><img src=x onerror=window.ran=1>"
    with serving(path) as server:
        browser.driver.get(server.address)
        browser.until("document.querySelector('main')?.dataset.group === 'g0'")
        ledger = Ledger(path)
        rows = ledger.rows("SELECT source, result FROM groups WHERE run = 1")[0]
        source, result = (json.loads(one) for one in rows)
        source["group_id"] = result["group_id"] = attack
        source["trajectories"][0]["messages"][0]["content"] = attack
        result["trajectories"][0]["explanation"] = attack
        row = (1, 1, attack, json.dumps(source), json.dumps(result))
        ledger.insert("INSERT INTO groups VALUES (?, ?, ?, ?, ?)", row)
        ledger.close()
        browser.until("document.querySelector('header.top').innerText.includes('2 groups')")
        browser.press("j")
        browser.until("document.querySelector('.group-head h2').innerText.includes('<script>')")
        assert attack in browser.text(".candidate .message .text, .candidate .judge-words")
        assert browser.run("return window.ran ?? null") is None
        assert browser.run("return document.images.length") == 0
        asked_for = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
        assert {urlsplit(one).path for one in asked_for} <= {f"{urlsplit(server.address).path}groups", "/favicon.ico"}
