"""Transport: every way a connection can fail is one of our errors, and no loop is left with an open session."""

from __future__ import annotations

import asyncio
import gc
import gzip
import os
import re
import ssl
import threading
import warnings
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from calipers.backends.transport.http import MAX_REPLY_BYTES, HttpClient
from calipers.errors import BackendError, ConfigError, TransientError
from calipers.judging.judge import Judge
from groups import FOUR, group_of
from servers.faulty_server import Answer, FaultyServer, said


def _client(url: str, **options: Any) -> HttpClient:
    return HttpClient(url, headers={"content-type": "application/json"}, timeout=options.get("timeout", 5.0))


async def _failure(url: str, **options: Any) -> BackendError:
    with pytest.raises(BackendError) as caught:
        await _client(url, **options).request("POST", "/chat/completions", body=b"{}")
    return caught.value


async def test_sends_the_body_and_gives_back_the_whole_answer(faulty: FaultyServer) -> None:
    faulty.script(Answer(418, b"short and stout", {"X-Teapot": "yes"}))
    reply = await _client(faulty.url).request("POST", "/chat/completions", body=b'{"a":"\xc3\xa9"}')
    assert (reply.status, reply.body, reply.headers["x-teapot"]) == (418, b"short and stout", "yes")
    assert faulty.asked[0].path == "/v1/chat/completions"
    assert faulty.posts == [{"a": "é"}]


def test_an_issuer_is_asked_for_only_where_its_certificate_would_help(monkeypatch: pytest.MonkeyPatch) -> None:
    dates = (62, "an address that the certificate names"), (10, "renew it")
    absent = "none.pem, which does not exist"
    for code, words, variable, path in (
        *((code, words, "SSL_CERT_FILE", "none.pem") for code, words in dates),
        (18, f"SSL_CERT_FILE names {absent}", "SSL_CERT_FILE", "none.pem"),
        (18, f"SSL_CERT_DIR names {absent}", "SSL_CERT_DIR", "none.pem"),
        (18, "set SSL_CERT_FILE", "SSL_CERT_FILE", __file__),
        (18, "set SSL_CERT_FILE", "SSL_CERT_DIR", f"none{os.pathsep}{os.curdir}"),
    ):
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(variable, path)
        failure = ssl.SSLCertVerificationError(1, "certificate verify failed")
        failure.verify_code = code
        key = ConnectionKey("h", 443, True, True, None, None, None)
        error = _client("https://h/v1")._translated(aiohttp.ClientConnectorCertificateError(key, failure))
        assert words in str(error)


async def test_a_query_in_the_base_url_is_kept_behind_the_path(faulty: FaultyServer) -> None:
    await _client(f"{faulty.url}?api-version=2").request("POST", "/chat/completions", body=b"{}")
    assert faulty.asked[0].path == "/v1/chat/completions?api-version=2"


async def test_a_body_of_many_megabytes_goes_out_whole_and_without_a_warning(faulty: FaultyServer) -> None:
    await _client(faulty.url).request("POST", "/x", body=b'"' + b"x" * (3 * 2**20) + b'"')
    assert len(faulty.posts[0]) == 3 * 2**20


async def test_every_failure_to_connect_says_what_to_look_at(faulty: FaultyServer) -> None:
    # What a TLS server sends to a plain request: an alert record.
    faulty.script(Answer(raw=b"\x15\x03\x01\x00\x02\x02\x16"))
    for url, words in {
        "http://127.0.0.1:1/v1": "http://127.0.0.1:1 .*start the server",
        "http://judge.invalid/v1": "judge.invalid cannot be resolved",
        faulty.url.replace("http:", "https:"): "http://",
        faulty.url: "https://",
    }.items():
        error = await _failure(url)
        assert error.kind == "unreachable"
        assert re.search(words, str(error)), error


async def test_every_broken_answer_is_a_transient_error(faulty: FaultyServer) -> None:
    bomb = gzip.compress(b"0" * (MAX_REPLY_BYTES + 1))
    for answer, kind in (
        (Answer(hang=True), "timeout"),
        (Answer(reset=True), "unreachable"),
        (Answer(raw=b""), "unreachable"),
        (Answer(body=b"x" * 5000, cut=100), "bad_reply"),
        (Answer(body=b"not gzip", headers={"Content-Encoding": "gzip"}), "bad_reply"),
        (Answer(body=bomb, headers={"Content-Encoding": "gzip"}), "bad_reply"),
        (Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: banana\r\n\r\n"), "unreachable"),
    ):
        faulty.script(answer)
        error = await _failure(faulty.url, timeout=0.2 if answer.hang else 100.0)
        assert isinstance(error, TransientError)
        assert error.kind == kind, answer.raw


async def test_a_proxy_of_the_environment_is_used_but_never_for_loopback(
    faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{faulty.port}")
    for url, path in (("http://judge.invalid/v1", "http://judge.invalid/v1/x"), (faulty.url, "/v1/x")):
        assert (await _client(url).request("POST", "/x", body=b"{}")).status == 200
        assert faulty.asked[-1].path == path


async def test_a_proxy_that_fails_is_named_without_its_password(
    faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty.script(Answer(407, b""))
    for proxy, words in {
        "u:secret@proxy.invalid:1": r"the proxy http://proxy.invalid:1: ",  # as curl reads it
        "http://u:secret@127.0.0.1:1": r"at the proxy http://127.0.0.1:1 .*NO_PROXY=judge.test",
        "http://proxy.invalid:1": r"the proxy http://proxy.invalid:1: .*resolved",
        f"http://127.0.0.1:{faulty.port}": r"https://judge.test \(by way of the proxy .*HTTP 407",
    }.items():
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        error = str(await _failure("https://judge.test/v1"))
        assert re.search(words, error), error
        assert "secret" not in error


async def test_a_proxy_that_is_no_address_is_refused_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for proxy in ("http://[::1", "http://u:secret@h:x", "http://h:99999999", "http://"):
        for scheme in ("http", "https"):
            monkeypatch.setenv(f"{scheme}_proxy", proxy)
            judge = Judge(f"vllm/m@{scheme}://judge.test/v1")
            with pytest.raises(ConfigError, match=f"^{scheme.upper()}_PROXY is not an address: write it as") as caught:
                await judge.check()
            assert "secret" not in str(caught.value)
    result = await judge.score_group(group_of(FOUR))
    assert result.status == "failed"
    with pytest.raises(ConfigError, match="HTTPS_PROXY"):
        await judge.require_answering()


def _run_to_the_end(work: Callable[[], Any]) -> None:
    asyncio.run(work())


def _run_and_only_close(work: Callable[[], Any]) -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(work())
    loop.close()


def _run_in_a_thread(work: Callable[[], Any]) -> None:
    thread = threading.Thread(target=_run_to_the_end, args=(work,))
    thread.start()
    thread.join()


@pytest.mark.filterwarnings(
    "ignore:unclosed transport:ResourceWarning"
)  # asyncio's own, of a loop closed with no grace
@pytest.mark.parametrize("run", [_run_to_the_end, _run_and_only_close, _run_in_a_thread])
def test_no_loop_leaves_a_session_unclosed(
    faulty: FaultyServer, run: Callable[[Callable[[], Any]], None], caplog: pytest.LogCaptureFixture
) -> None:
    """aiohttp complains of what is left open, as a warning and through the loop's log; neither may happen."""
    faulty.script(said())
    clients = [_client(faulty.url)]

    async def ask() -> None:
        await clients[0].request("POST", "/x", body=b"{}")

    for _ in range(3):
        run(ask)
    assert len(faulty.asked) == 3
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clients.clear()
        gc.collect()
    assert [str(warning.message) for warning in caught if "aiohttp" in str(warning.message)] == []
    assert "Unclosed" not in caplog.text


async def test_a_client_that_is_dropped_closes_its_session_on_the_running_loop(faulty: FaultyServer) -> None:
    client = _client(faulty.url)
    await client.request("POST", "/x", body=b"{}")
    session = await client._session_of_loop()
    assert not session.closed
    del client
    gc.collect()
    await asyncio.sleep(0)  # the loop begins the task that closes it
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    assert session.closed


async def test_a_closed_client_opens_again_when_asked(faulty: FaultyServer) -> None:
    client = _client(faulty.url)
    await client.request("POST", "/x", body=b"{}")
    await client.aclose()
    await client.aclose()
    assert (await client.request("POST", "/x", body=b"{}")).status == 200
