"""A key goes to the judge's address and nowhere else: not into files, output, errors, tracebacks or help."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.backends.connect import find_backend
from calipers.backends.providers.known import PROVIDERS
from calipers.cli import app
from calipers.errors import BackendError
from calipers.judging.judge import Judge
from calipers.ledger import Ledger
from command_line import run_in
from groups import FOUR, group_of
from servers.faulty_server import Answer, Asked, FaultyServer, error

KEY = "sk-live-9aX77qPlmZ0unguessable"
ODD_KEY = "unguessable:with spaces? no prefix"
GROUP = group_of(FOUR)


def echoing(asked: Asked) -> Answer:
    """A server that shows the key it was given in its error, as some do."""
    given = asked.headers.get("authorization") or asked.headers.get("x-api-key") or asked.headers.get("api-key") or ""
    return error(401, f"Incorrect API key provided: {given.removeprefix('Bearer ')} (header was: {given})")


def calipers_command(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calipers", *arguments],
        cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


async def test_no_result_names_the_key_even_where_the_server_does(faulty: FaultyServer):
    faulty.script(echoing)
    names = ("openai/m", "anthropic/m", "azure/m", "openai_decisions/m", "vllm/m")
    for name, key in product(names, (KEY, ODD_KEY)):
        judge = Judge(name, base_url=faulty.url, api_key=key, calls={"attempts": 1})
        result = await judge.score_group(GROUP)
        assert key in str(faulty.asked[-1].headers)  # it did go where it belongs
        assert result.status == "failed"
        assert "unguessable" not in json.dumps(result.to_dict()) + repr(judge.settings)


async def test_no_traceback_names_the_key(faulty: FaultyServer):
    from backends.asking import question  # noqa: PLC0415 - a question without a protocol

    faulty.script(echoing)
    backend = find_backend("openai/m", base_url=faulty.url, api_key=KEY)
    with pytest.raises(BackendError) as caught:
        await backend.complete(question())
    shown = "".join(traceback.format_exception(caught.value))
    assert "unguessable" not in shown
    assert "unguessable" not in repr(backend)


def test_a_run_leaves_no_key_in_any_file_or_output(faulty: FaultyServer, tmp_path: Path):
    (tmp_path / "groups.jsonl").write_text(json.dumps(GROUP.to_dict()) + "\n", encoding="utf-8")
    for replies in ((echoing,), (Answer(500, {"error": {"message": f"internal: key={KEY}"}}),), ()):
        faulty.script(*replies) if replies else faulty.script(scored)
        done = calipers_command(
            "score", "groups.jsonl", "-o", "out.jsonl", "--judge", "openai/m", "--base-url", faulty.url, "-vv",
            "--deadline", "6",
            cwd=tmp_path, OPENAI_API_KEY=KEY,
        )  # fmt: skip
        assert "unguessable" not in done.stdout + done.stderr
        for file in tmp_path.iterdir():
            assert b"unguessable" not in file.read_bytes(), file.name
    assert json.loads((tmp_path / "out.jsonl").read_text())["status"] == "scored"


def scored(asked: Asked) -> Answer:
    keys = asked.body["response_format"]["json_schema"]["schema"]["properties"]["scores"]["required"]
    text = json.dumps({"scores": dict.fromkeys(keys, 50)})
    return Answer(body={"model": "m", "choices": [{"finish_reason": "stop", "message": {"content": text}}]})


def test_no_help_names_a_key(tmp_path: Path):
    keys = {provider.key: KEY for provider in PROVIDERS.values() if provider.key}
    for command in ((), *((name,) for name in app.commands)):
        done = run_in(tmp_path, *command, "--help", **keys)
        assert done.code == 0
        assert "unguessable" not in done.out + done.err


async def test_a_redirect_does_not_carry_the_key_away(faulty: FaultyServer):
    with FaultyServer() as elsewhere:
        faulty.script(Answer(307, b"", headers={"Location": f"{elsewhere.url}/chat/completions"}))
        result = await calipers.score_group(
            GROUP, judge=Judge("openai/m", base_url=faulty.url, api_key=KEY, calls={"attempts": 1})
        )
        assert result.status == "failed"
        assert elsewhere.asked == []


@pytest.mark.parametrize("form", ["escapes", "pieces"])
def test_a_key_that_only_the_readers_eye_puts_together_reaches_no_file_either(
    faulty: FaultyServer, tmp_path: Path, form: str
):
    if form == "escapes":
        text = "".join(f"\\u{ord(sign):04x}" for sign in KEY)
        body = (
            '{"model": "KEY", "system_fingerprint": "KEY", "choices": [{"finish_reason": "stop", "message": '
            '{"content": "KEY"}}]}'
        )
        answer = Answer(body=body.replace("KEY", text).encode())
    else:
        chunks: list[Any] = [{"choices": [{"delta": {"content": part}}]} for part in ("it is ", KEY[:9], KEY[9:])]
        chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
        answer = Answer(body=f"{stream}data: [DONE]\n\n".encode(), headers={"Content-Type": "text/event-stream"})
    (tmp_path / "groups.jsonl").write_text(json.dumps(GROUP.to_dict()) + "\n", encoding="utf-8")
    faulty.script(answer)
    done = calipers_command(
        "score", "groups.jsonl", "-o", "out.jsonl", "--judge", "openai/m", "--base-url", faulty.url, "-vv",
        cwd=tmp_path, OPENAI_API_KEY=KEY,
    )  # fmt: skip
    assert "[key]" in done.stderr
    assert KEY not in done.stdout + done.stderr
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes(), file.name


def test_a_key_that_a_server_echoes_in_an_answer_reaches_no_file(faulty: FaultyServer, tmp_path: Path):
    shown = KEY

    def echoed(asked: Asked) -> Answer:
        answer = scored(asked)
        assert isinstance(answer.body, dict)
        return Answer(body={**answer.body, "model": f"m {shown}", "system_fingerprint": shown, "id": shown})

    (tmp_path / "groups.jsonl").write_text(json.dumps(GROUP.to_dict()) + "\n", encoding="utf-8")
    redirect = Answer(307, b"", headers={"Location": f"http://elsewhere/?key={shown}"})
    replies: list[Answer | Callable[[Asked], Answer]] = [echoed, redirect]
    for seed, reply in enumerate(replies):
        faulty.script(reply)
        done = calipers_command(
            "score", "groups.jsonl", "-o", "out.jsonl", "--judge", "openai/m", "--base-url", faulty.url, "-vv",
            "--deadline", "6",
            "--seed", str(seed), cwd=tmp_path, OPENAI_API_KEY=KEY,
        )  # fmt: skip
        assert shown not in done.stdout + done.stderr
        for file in tmp_path.iterdir():
            assert shown[4:-4].encode() not in file.read_bytes(), file.name


def test_a_new_ledger_is_its_owners_alone(tmp_path: Path):
    with closing(Ledger(tmp_path / "runs.db")):
        for file in tmp_path.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
    (tmp_path / "runs.db").chmod(0o640)
    Ledger(tmp_path / "runs.db").close()
    assert stat.S_IMODE((tmp_path / "runs.db").stat().st_mode) == 0o640
