"""What of a judge's name is shown, and what is not."""

import json
import sys
from pathlib import Path

import pytest

import calipers
from calipers.backends.names import name_without_password, split_judge_name, url_without_password
from calipers.calibration.collect import JudgeAnswers
from calipers.cli import main
from calipers.errors import ConfigError

SECRET = "vllm/m@http://me:s3cret@127.0.0.1:9/v1"  # noqa: S105 - of nobody


def test_a_base_url_behind_a_name_is_taken_off():
    assert split_judge_name("vllm/qwen3@http://gpu1:8000/v1") == ("vllm/qwen3", "http://gpu1:8000/v1")
    assert split_judge_name("vertex/publishers/x@001") == ("vertex/publishers/x@001", None)


def test_a_password_in_it_is_shown_nowhere(tmp_path: Path):
    assert name_without_password(SECRET) == "vllm/m@http://127.0.0.1:9/v1"
    assert name_without_password("openai/gpt-5-mini") == "openai/gpt-5-mini"
    assert name_without_password("https://me:s3cret@h/v1") == "https://h/v1"
    assert name_without_password("lab/HTTP://me:s3cret@h/v1?key=s3cret") == "lab/http://h/v1"
    assert url_without_password("http://h/v1#key=s3cret") == "http://h/v1"
    path = tmp_path / "l.db"
    judge = calipers.Judge([SECRET, "embedded"], panel="fallback", ledger=path)
    assert "s3cret" not in json.dumps(judge.settings.to_dict())
    assert judge.store is not None
    judge.close()
    assert b"s3cret" not in path.read_bytes()
    assert JudgeAnswers.of(SECRET, "listwise").judge == "vllm/m@http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    "options",
    [
        {"judge": SECRET, "base_url": "http://127.0.0.1:9/v1"},
        {"judge": [SECRET, SECRET]},
        {"judge": [SECRET, "embedded"], "price": (1, 2)},
        {"judge": [SECRET, "embedded"], "api_key": {"vllm/x": "k"}},
    ],
)
def test_no_error_about_a_judge_holds_its_password(options: dict[str, object]):
    with pytest.raises(ConfigError) as caught:
        calipers.Judge.of(options)
    assert "s3cret" not in str(caught.value)


def test_a_key_in_an_address_is_not_shown():
    for url, shown in (
        ("http://h:1/v1?api_key=s3cret", "http://h:1/v1"),
        ("https://me:s3cret@h/v1?api-version=2024-06&sig=s3cret#k=s3cret", "https://h/v1"),
        ("https://h/v1?s3cret", "https://h/v1"),
        ("http://h:1/v1", "http://h:1/v1"),
    ):
        assert url_without_password(url) == url_without_password(shown) == shown
        assert name_without_password(f"vllm/m@{url}") == f"vllm/m@{shown}"


def test_options_show_no_key_and_no_password():
    url = "http://me:s3cret@h/v1?api_key=s3cret"
    judge = calipers.Judge("vllm/m", base_url=[url], api_key="s3cret")
    assert "s3cret" not in repr(vars(judge)) + repr(judge)
    assert "base_url=['http://h/v1'], api_key=..." in repr(vars(judge))


HIDDEN = "http://me:s3cret@127.0.0.1:9/v1?api_key=s3cret"
GROUP = {
    "group_id": "g",
    "context": [{"role": "user", "content": "q"}],
    "trajectories": [
        {"id": name, "messages": [{"role": "assistant", "content": name}], "gold": gold}
        for gold, name in enumerate("ab")
    ],
}


@pytest.mark.parametrize(
    "line",
    [
        ["doctor", "--judge", f"vllm/m@{HIDDEN}"],
        ["doctor", "--judge", "vllm/m", "--base-url", HIDDEN, "--base-url", HIDDEN],
        ["judges"],
        ["generate", "prompts.jsonl", "-o", "out.jsonl", "--base-url", HIDDEN],
        ["calibrate", "groups.jsonl", "--judge", f"vllm/m@{HIDDEN}", "--estimate"],
    ],
)
def test_no_command_prints_or_keeps_a_secret_of_an_address(
    line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VLLM_BASE_URL", HIDDEN)
    monkeypatch.setattr(sys, "argv", ["calipers", *line])
    (tmp_path / "groups.jsonl").write_text(json.dumps(GROUP) + "\n")
    (tmp_path / "prompts.jsonl").write_text(json.dumps({"id": "1", "prompt": "q"}) + "\n")
    with pytest.raises(SystemExit):
        main()
    told = capfd.readouterr()
    assert told.out + told.err
    assert "s3cret" not in told.out + told.err
    assert not [one.name for one in tmp_path.iterdir() if b"s3cret" in one.read_bytes()]
