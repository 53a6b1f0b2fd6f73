"""A ledger in Postgres: several processes, a server that goes away, addresses and rights. On a server of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from asking import request
from calipers.cli import app
from calipers.errors import CalipersError, LedgerError
from calipers.interfaces import FullBackend
from calipers.judging.judge import Judge
from calipers.ledger import Recorder, Run, open_ledger, read_ledger
from calipers.ledger.database import FORMAT, LEARNED
from calipers.ledger.opening import Address
from calipers.testing import SimulatedJudge
from calipers.types import Completion, JudgeRequest
from groups import QUALITY
from servers.postgres_server import PASSWORD, PostgresServer

pytest.importorskip("asyncpg", reason="asyncpg is not installed: pip install 'calipers[postgres]'")

from calipers.ledger.postgres.ledger import PostgresLedger

pytestmark = pytest.mark.heavy
WORKER = Path(__file__).parents[1] / "servers" / "shared_worker.py"
SETTINGS = Judge(SimulatedJudge(QUALITY)).settings.to_dict()


def test_a_server_that_cannot_be_used_is_one_sentence(postgres: PostgresServer, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    for address, words in (
        (postgres.url(secret="wrong"), "password authentication failed.*Check the user and the password"),  # noqa: S106 - of a test
        (postgres.url(database="missing"), '"missing" does not exist.*createdb'),
        ("postgresql://me:its%2Fsecret%40word@127.0.0.1:1/judges", "127.0.0.1:1/judges.*Check that the server"),
        (postgres.url() + "?sslmode=nonsense", "cannot be opened"),
        (postgres.url("Upper Case"), "lower-case letters"),
    ):
        with pytest.raises(LedgerError, match=words) as told:
            open_ledger(address)
        done = CliRunner().invoke(app, ["replay", address, "-o", "-"])
        assert isinstance(done.exception, CalipersError)
        for text in (str(told.value), str(done.exception), done.output, caplog.text):
            assert PASSWORD not in text
            assert "its%2Fsecret" not in text
    assert not [one.name for one in threading.enumerate() if one.name == "calipers-ledger"]


def test_missing_rights_are_told_with_the_grants_that_help(postgres: PostgresServer):
    schema = "ledger_of_clerk"
    postgres.run("psql", "-c", "CREATE ROLE clerk LOGIN PASSWORD 'clerk'")
    url = postgres.url(schema, user="clerk", secret="clerk")  # noqa: S106 - of a test
    with pytest.raises(LedgerError, match=r"permission denied.*GRANT CREATE ON DATABASE"):
        open_ledger(url)
    open_ledger(postgres.url(schema)).close()
    with pytest.raises(LedgerError, match=r"permission denied.*USAGE on its schema"):
        open_ledger(url)
    for granted in (f"USAGE ON SCHEMA {schema}", f"SELECT ON ALL TABLES IN SCHEMA {schema}"):
        postgres.run("psql", "-c", f"GRANT {granted} TO clerk")
    with read_ledger(url) as reader:
        assert reader.rows("SELECT count(*) FROM answers") == [(0,)]
    with open_ledger(url) as ledger, pytest.raises(LedgerError, match=r"permission denied"):
        Run(ledger, SETTINGS, version="0")


def test_a_foreign_or_newer_schema_is_not_touched(postgres: PostgresServer, postgres_url: str):
    postgres.run("psql", "-c", "CREATE SCHEMA taken", "-c", "CREATE TABLE taken.payroll (x int)")
    with pytest.raises(LedgerError, match="another program's tables"):
        open_ledger(postgres.url("taken"))
    with open_ledger(postgres_url) as ledger:
        ledger.put("UPDATE ledger_format SET format = ?", (FORMAT + 1,))
    for opened in (open_ledger, read_ledger):
        with pytest.raises(LedgerError, match=f"format {FORMAT + 1}"):
            opened(postgres_url)


class Slow(FullBackend):
    """A judge that answers once it is let go."""

    endpoint, model = "slow", "m"

    def __init__(self) -> None:
        self.calls = 0
        self.go, self.is_asked = asyncio.Event(), asyncio.Event()

    async def complete(self, request: JudgeRequest) -> Completion:
        self.calls += 1
        self.is_asked.set()
        await self.go.wait()
        return Completion(f"answer {self.calls}")


@pytest.fixture
def two(postgres_url: str) -> Iterator[tuple[PostgresLedger, PostgresLedger]]:
    """Two open ledgers as two processes have them."""
    with PostgresLedger(postgres_url, patience=2) as one, PostgresLedger(postgres_url, patience=2) as other:
        yield one, other


async def test_a_question_that_is_given_up_goes_to_who_waits(two: tuple[PostgresLedger, PostgresLedger]):
    judge = Slow()
    first, second = (Recorder(Run(ledger, SETTINGS, version="0")) for ledger in two)
    asker = asyncio.create_task(first.answer(0, request(), judge))
    await judge.is_asked.wait()
    waiter = asyncio.create_task(second.answer(0, request(), judge))
    gives_up = asyncio.create_task(second.answer(0, replace(request(), max_tokens=7), judge))
    await asyncio.sleep(0.15)
    gives_up.cancel()
    asker.cancel()
    judge.go.set()
    assert (await waiter).text == "answer 3"


def workers(count: int, location: str, account: Path, groups: int) -> list[subprocess.Popen[str]]:
    """Processes whose runs have all begun, and which score from now on."""
    command, pipe = [sys.executable, str(WORKER), location, str(account), str(groups), "0.03"], subprocess.PIPE
    started = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(count)]
    assert [one.stdout.readline() for one in started if one.stdout] == ["ready\n"] * count
    for one in started:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    return started


def calls(account: Path, wanted: str) -> list[str]:
    """The groups that were asked about, or answered, once for each time."""
    lines = account.read_text().splitlines() if account.exists() else []
    return [group for event, group in map(json.loads, lines) if event == wanted]


def wait_for_answers(account: Path, count: int) -> None:
    while len(calls(account, "answered")) < count:
        time.sleep(0.02)


def results(process: subprocess.Popen[str]) -> dict[str, list[object]]:
    """What a worker printed when it has ended: status and rewards by group."""
    said, wrong = process.communicate(timeout=60)
    assert process.returncode == 0, wrong
    return {group: found for group, *found in map(json.loads, said.splitlines())}


def test_of_two_processes_a_killed_one_loses_only_what_was_in_flight(postgres_url: str, tmp_path: Path):
    account, groups = tmp_path / "paid", 80
    one, two = workers(2, postgres_url, account, groups)
    wait_for_answers(account, 30)
    two.kill()
    two.communicate()
    found = results(one)
    assert len(found) == groups
    assert {status for status, _ in found.values()} == {"scored"}
    assert len(calls(account, "asked")) - groups <= 8  # those of the killed process that were not recorded
    assert set(calls(account, "answered")) == set(found)
    with read_ledger(postgres_url) as reader:
        assert reader.rows("SELECT count(*) FROM answers") == [(groups,)]
        assert reader.rows("SELECT count(*) FROM runs") == [(2,)]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
def test_a_restart_costs_nothing(postgres: PostgresServer, postgres_url: str, tmp_path: Path, how: signal.Signals):
    account, groups = tmp_path / "paid", 100
    (running,) = workers(1, postgres_url, account, groups)
    wait_for_answers(account, 40)
    postgres.stop(how)
    time.sleep(0.5)
    postgres.start()
    assert len(results(running)) == len(calls(account, "asked")) == groups
    with read_ledger(postgres_url) as reader:
        assert reader.rows("SELECT count(*) FROM groups") == [(groups,)]


async def test_a_server_that_stays_away_ends_the_run(postgres: PostgresServer, postgres_url: str):
    judge = Slow()
    ledger = PostgresLedger(postgres_url)
    recorder = Recorder(Run(ledger, SETTINGS, version="0"))
    asked = asyncio.create_task(recorder.answer(0, request(), judge))
    await judge.is_asked.wait()
    for connection in (ledger._writer, ledger._reader):  # not before: a busy machine needs the patience to open it
        connection._patience = 0.5
    postgres.stop()
    try:
        judge.go.set()
        began = time.monotonic()
        with pytest.raises(LedgerError, match=r"cannot be written .*nothing is lost"):
            await asked
        with pytest.raises(LedgerError):
            await recorder.answer(0, replace(request(), max_tokens=9), judge)
        with pytest.raises(LedgerError):
            ledger.rows("SELECT 1")
        ledger.put(LEARNED.insert_or_replace, ("e", "m", "{}"))
        with pytest.raises(LedgerError):
            ledger.close()
        assert time.monotonic() - began < 10
        assert judge.calls == 1
    finally:
        postgres.start()
    with read_ledger(postgres_url) as reader:
        assert reader.rows("SELECT count(*) FROM answers") == [(0,)]


async def test_a_restart_keeps_the_claims_of_the_living(postgres: PostgresServer, postgres_url: str):
    with PostgresLedger(postgres_url) as one, PostgresLedger(postgres_url) as other:
        await one.claim("held")
        postgres.stop(signal.SIGINT)
        postgres.start()
        assert await asyncio.wait_for(one.claim("new"), 10)  # the claims come back with the connection
        waits = asyncio.create_task(other.claim("held"))
        await asyncio.sleep(0.3)
        assert not waits.done()
        one.release("held")
        assert await asyncio.wait_for(waits, 10)


async def test_a_claim_that_is_cancelled_is_free(two: tuple[PostgresLedger, PostgresLedger]):
    one, other = two
    keys = [f"k{number}" for number in range(30)]
    for number, key in enumerate(keys):
        claiming = asyncio.create_task(one.claim(key))
        await asyncio.sleep(0.0005 * number)
        claiming.cancel()
        await asyncio.wait([claiming])
        if not claiming.cancelled():
            one.release(key)
    assert set(await asyncio.wait_for(asyncio.gather(*map(other.claim, keys)), 10)) == {True}


async def test_a_server_that_does_not_answer_is_given_up(postgres: PostgresServer, postgres_url: str):
    lock = f"BEGIN; LOCK TABLE {Address.of(postgres_url).schema}.learned; SELECT pg_sleep(4); COMMIT"
    with PostgresLedger(postgres_url, patience=0.5) as ledger:
        locker = asyncio.create_task(asyncio.to_thread(postgres.run, "psql", "-c", lock))
        await asyncio.sleep(0.3)
        ledger.put(LEARNED.insert_or_replace, ("e", "m", "{}"))
        with pytest.raises(LedgerError, match="does not answer"):
            await ledger.commit()
        await locker
        ledger.put(LEARNED.insert_or_replace, ("e", "n", "{}"))
        await ledger.commit()


async def test_on_a_full_disk_an_answer_is_paid_for_once(postgres: PostgresServer, postgres_url: str):
    judge, schema = Slow(), Address.of(postgres_url).schema
    judge.go.set()
    with PostgresLedger(postgres_url) as ledger:
        recorder = Recorder(Run(ledger, SETTINGS, version="0"))
        full = "BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END"
        postgres.run("psql", "-c", f"CREATE FUNCTION {schema}.full() RETURNS trigger LANGUAGE plpgsql AS $${full}$$")
        on = f"BEFORE INSERT ON {schema}.answers EXECUTE FUNCTION {schema}.full()"
        postgres.run("psql", "-c", f"CREATE TRIGGER full_disk {on}")
        for _ in range(3):
            with pytest.raises(LedgerError, match="no space left"):
                await recorder.answer(0, request(), judge)
        with pytest.raises(LedgerError, match="no space left"):
            await ledger.require_writable()
        postgres.run("psql", "-c", f"DROP TRIGGER full_disk ON {schema}.answers")
        assert (await recorder.answer(0, request(), judge)).text == "answer 1"
