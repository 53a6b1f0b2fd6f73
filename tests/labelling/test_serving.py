"""The label page's server: who gets it, what a request may be, and what it answers."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from calipers.labelling.serving import LARGEST_BODY, LabelServer, label_page, label_policy
from groups import FOUR, group_of
from labelled import groups_file, opened, session_of


@contextmanager
def serving(folder: Path, **options: Any) -> Iterator[LabelServer]:
    """The page of one annotator."""
    groups = [group_of(FOUR, group_id=f"g{n}", question=f"{n}? {'long ' * 4000}") for n in range(3)]
    index = opened(groups_file(folder / "g.jsonl", groups))
    with LabelServer(session_of(index, folder / "l.jsonl", **options)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def asked(
    server: LabelServer, path: str, body: object = None, *, secret: str | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """A request under the secret part of the address: GET, or POST with a body."""
    where = f"/{server.secret if secret is None else secret}/{path}"
    sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    kind = {} if body is None else {"Content-Type": "application/json"}
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)) as connection:
        connection.request("GET" if body is None else "POST", where, sent, kind | headers)
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()


def first_token(server: LabelServer) -> str:
    return str(json.loads(asked(server, "next")[2])["group"]["token"])


def label(token: str, **more: Any) -> dict[str, Any]:
    return {"token": token, "ranks": [1, 2, 3, 4], "note": "", "based_on": 0} | more


def test_the_page_holds_no_data_and_has_the_reports_policy(tmp_path: Path):
    with serving(tmp_path) as server:
        status, headers, body = asked(server, "")
    assert (status, body) == (200, label_page())
    assert b"g0" not in body
    assert headers["content-security-policy"] == f"{label_policy()}; frame-ancestors 'none'"
    assert headers["cache-control"] == "no-store"
    text = body.decode()
    assert label_policy() in text
    ways = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "//http")
    assert [way for way in ways if way in text] == []


def test_nobody_gets_or_saves_anything_without_the_secret_or_under_another_name(tmp_path: Path):
    with serving(tmp_path) as server:
        token = first_token(server)
        for path, body in (("", None), ("next", None), ("label", label(token)), ("undo", {"token": token})):
            for secret in ("", "x" * 22):
                status, _, said = asked(server, path, body, secret=secret)
                assert status == 404
                assert b"calipers label printed" in said
            for host in ("evil.example", f"evil.example:{server.server_port}", "127.0.0.1"):
                assert asked(server, path, body, Host=host)[0] == 403
        assert asked(server, "label", label(token), Origin="https://evil.example")[0] == 403
        assert asked(server, "label", label(token), Origin="null")[0] == 403
        assert not (tmp_path / "l.jsonl").exists()
        own = f"http://127.0.0.1:{server.server_port}"
        assert asked(server, "label", label(token), Origin=own)[0] == 200


def test_requests_of_another_kind_or_size_are_refused(tmp_path: Path):
    with serving(tmp_path) as server:
        token = first_token(server)
        whole = json.dumps(label(token)).encode()
        for name, value, status in (
            ("Content-Type", "text/plain", 415), ("Transfer-Encoding", "chunked", 411), ("Content-Length", "x", 411),
            ("Content-Length", "-1", 411), ("Content-Length", str(LARGEST_BODY + 1), 413),
            ("Content-Length", "9" * 40, 413),
        ):  # fmt: skip
            assert asked(server, "label", whole, **{name: value})[0] == status, (name, value)
        for body in (b"[]", b"{", b"\xff", b"", b"[" * 50_000):
            assert asked(server, "label", body)[0] == 400, body[:10]
        for wrong in (label("none"), label(token, ranks=[1]), label(token, based_on=None), {}):
            status, _, said = asked(server, "label", wrong)
            assert (status, bool(json.loads(said)["error"])) == (400, True)
        for path in ("none", "next/x", "../label"):
            assert (asked(server, path)[0], asked(server, path, {})[0]) == (404, 404)
        assert asked(server, "next?token=none")[0] == 400
        assert not (tmp_path / "l.jsonl").exists()


def test_an_answer_is_saved_or_says_why_not(tmp_path: Path):
    file = tmp_path / "l.jsonl"
    with serving(tmp_path) as server:
        token = first_token(server)
        for body, expected in (
            (label(token), (200, 1, 1)),
            (label(token), (200, 1, 1)),  # its confirmation got lost
            (label(token, ranks=[4, 3, 2, 1]), (409, 1, None)),
        ):
            status, _, said = asked(server, "label", body)
            assert (status, json.loads(said)["revision"], json.loads(said).get("labelled")) == expected
        assert len(file.read_text().splitlines()) == 1
        assert asked(server, "undo", {"token": token, "based_on": 1})[0] == 200
        file.unlink()
        file.mkdir()
        status, _, said = asked(server, "label", label(token, based_on=2))
        assert (status, "l.jsonl" in json.loads(said)["error"]) == (507, True)
