"""A key goes to the judge's address and nowhere else: not into files, output, errors, tracebacks or help."""

from __future__ import annotations

import json
import stat
import traceback
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from backends.asking import question
from calipers.backends.connect import find_backend
from calipers.backends.names import name_without_password, split_judge_name, url_without_password
from calipers.backends.providers.known import PROVIDERS
from calipers.calibration.collect import JudgeAnswers
from calipers.cli import app
from calipers.errors import BackendError, ConfigError
from calipers.judging.judge import Judge, store_of
from calipers.ledger import Ledger
from command_line import run_in
from groups import FOUR, group_of
from inputs.written import written
from servers.dialects import verdict
from servers.faulty_server import Answer, Asked, FaultyServer, Reply, error, said, streamed

KEY = "sk-live-9aX77qPlmZ0unguessable"
ODD_KEY = "unguessable:with spaces? no prefix"
GROUP = group_of(FOUR)


def echoing(asked: Asked) -> Answer:
    """A server that shows the key it was given in its error, as some do."""
    given = asked.headers.get("authorization") or asked.headers.get("x-api-key") or ""
    return error(401, f"Incorrect API key provided: {given.removeprefix('Bearer ')} (header was: {given})")


async def test_no_result_names_the_key_even_where_the_server_does(faulty: FaultyServer):
    faulty.script(echoing)
    names = ("openai/m", "anthropic/m", "openai_decisions/m", "vllm/m")
    for name, key in product(names, (KEY, ODD_KEY)):
        judge = Judge(name, base_url=faulty.url, api_key=key, calls={"attempts": 1})
        result = await judge.score_group(GROUP)
        assert key in str(faulty.asked[-1].headers)  # it did go where it belongs
        assert result.status == "failed"
        assert "unguessable" not in json.dumps(result.to_dict()) + repr(judge.settings)


async def test_no_traceback_names_the_key(faulty: FaultyServer):
    faulty.script(echoing)
    backend = find_backend("openai/m", base_url=faulty.url, api_key=KEY)
    with pytest.raises(BackendError) as caught:
        await backend.complete(question())
    assert "unguessable" not in "".join(traceback.format_exception(caught.value)) + repr(backend)


def in_its_fields(asked: Asked) -> Answer:
    body = said(verdict(asked)).body
    return Answer(body={**body, "model": f"m {KEY}", "system_fingerprint": KEY, "id": KEY})


ESCAPED = "".join(f"\\u{ord(sign):04x}" for sign in KEY)
PIECES = [{"choices": [{"delta": {"content": part}}]} for part in ("it is ", KEY[:9], KEY[9:])]
ENDED = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
ECHOES: dict[str, Reply] = {
    "a refusal": echoing,
    "an error": error(500, f"internal: key={KEY}"),
    "a redirect": Answer(307, b"", {"Location": f"http://elsewhere/?key={KEY}"}),
    "fields of an answer": in_its_fields,
    "escapes": Answer(body=json.dumps(said(KEY).body).replace(KEY, ESCAPED).encode()),
    "pieces of a stream": streamed(*PIECES, ENDED),
    "nothing": lambda asked: said(verdict(asked)),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_a_run_leaves_no_key_in_any_file_or_output(faulty: FaultyServer, tmp_path: Path, echo: str):
    faulty.script(ECHOES[echo])
    written(tmp_path / "groups.jsonl", GROUP.to_dict())
    line = f"score groups.jsonl -o out.jsonl --judge openai/m --base-url {faulty.url} -vv --deadline 1".split()
    done = run_in(tmp_path, *line, OPENAI_API_KEY=KEY)
    assert (done.code == 0) is (echo in {"fields of an answer", "nothing"})
    assert echo not in {"escapes", "pieces of a stream"} or "[key]" in done.err
    assert KEY[4:-4] not in done.out + done.err
    assert not [file.name for file in tmp_path.iterdir() if KEY[4:-4].encode() in file.read_bytes()]


async def test_a_redirect_does_not_carry_the_key_away(faulty: FaultyServer):
    with FaultyServer() as elsewhere:
        faulty.script(Answer(307, b"", headers={"Location": f"{elsewhere.url}/chat/completions"}))
        judge = Judge("openai/m", base_url=faulty.url, api_key=KEY, calls={"attempts": 1})
        assert (await judge.score_group(GROUP)).status == "failed"
        assert elsewhere.asked == []


def test_a_new_ledger_is_its_owners_alone(tmp_path: Path):
    with closing(Ledger(tmp_path / "runs.db")):
        for file in tmp_path.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
    (tmp_path / "runs.db").chmod(0o640)
    Ledger(tmp_path / "runs.db").close()
    assert stat.S_IMODE((tmp_path / "runs.db").stat().st_mode) == 0o640


# --- secrets in a judge's name and address ---

HIDDEN = "http://me:s3cret@127.0.0.1:9/v1?api_key=s3cret"
SECRET, SHOWN = f"vllm/m@{HIDDEN}", "vllm/m@http://127.0.0.1:9/v1"


def test_a_base_url_behind_a_name_is_taken_off():
    assert split_judge_name("vllm/qwen3@http://gpu1:8000/v1") == ("vllm/qwen3", "http://gpu1:8000/v1")
    assert split_judge_name("vertex/publishers/x@001") == ("vertex/publishers/x@001", None)


def test_names_and_addresses_are_shown_without_passwords_and_keys():
    for url, shown in (
        ("http://h:1/v1?api_key=s3cret", "http://h:1/v1"),
        ("https://me:s3cret@h/v1?api-version=2024-06&sig=s3cret#k=s3cret", "https://h/v1"),
        ("https://h/v1?s3cret", "https://h/v1"),
        ("http://h/v1#key=s3cret", "http://h/v1"),
        ("http://h:1/v1", "http://h:1/v1"),
    ):
        assert url_without_password(url) == name_without_password(url) == shown
        assert name_without_password(f"vllm/m@{url}") == f"vllm/m@{shown}"
    assert name_without_password("openai/gpt-5-mini") == "openai/gpt-5-mini"
    assert name_without_password("lab/HTTP://me:s3cret@h/v1?key=s3cret") == "lab/http://h/v1"


def test_a_judge_keeps_no_secret_of_its_address(tmp_path: Path):
    path = tmp_path / "l.db"
    judge = Judge([SECRET, "embedded"], panel="fallback", ledger=path)
    assert "s3cret" not in json.dumps(judge.settings.to_dict())
    assert store_of(judge) is not None
    judge.close()
    assert b"s3cret" not in path.read_bytes()
    assert JudgeAnswers.of(SECRET, "listwise").judge == SHOWN
    options = repr(vars(Judge("vllm/m", base_url=[HIDDEN], api_key="s3cret")))
    assert "s3cret" not in options
    assert "base_url=['http://127.0.0.1:9/v1'], api_key=..." in options


@pytest.mark.parametrize(
    "options",
    [
        {"judge": SECRET, "base_url": "http://127.0.0.1:9/v1"},
        {"judge": [SECRET, SECRET]},
        {"judge": [SECRET, "embedded"], "price": (1, 2)},
        {"judge": [SECRET, "embedded"], "api_key": {"vllm/x": "k"}},
    ],
)
def test_no_error_about_a_judge_holds_its_password(options: dict[str, Any]):
    with pytest.raises(ConfigError) as caught:
        Judge.of(options)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        f"doctor --judge {SECRET}",
        f"doctor --judge vllm/m --base-url {HIDDEN} --base-url {HIDDEN}",
        "judges",
        f"generate prompts.jsonl -o out.jsonl --base-url {HIDDEN}",
        f"calibrate groups.jsonl --judge {SECRET} --estimate",
        *(f"{name} --help" for name in app.commands),
    ],
)
def test_no_command_prints_or_keeps_a_secret(line: str, tmp_path: Path):
    keys = {provider.key: "s3cret-key" for provider in PROVIDERS.values() if provider.key}
    members = [{"id": name, "messages": [{"role": "assistant", "content": name}]} for name in "ab"]
    golden = [{**member, "gold": gold} for gold, member in enumerate(members)]
    written(tmp_path / "groups.jsonl", {"context": [{"role": "user", "content": "q"}], "trajectories": golden})
    written(tmp_path / "prompts.jsonl", {"id": "1", "prompt": "q"})
    done = run_in(tmp_path, *line.split(), VLLM_BASE_URL=HIDDEN, **keys)
    assert done.out + done.err
    assert "s3cret" not in done.out + done.err
    assert not [file.name for file in tmp_path.iterdir() if b"s3cret" in file.read_bytes()]
