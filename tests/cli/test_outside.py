"""Whatever a flag is given for a number, a command runs or says what is wrong; never a traceback."""

import os
from itertools import product
from pathlib import Path

import click
import pytest

from calipers.backends.providers.known import PROVIDERS
from calipers.cli import app
from calipers.errors import CalipersError, ConfigError
from calipers.generation.sampling import ResponseFile
from command_line import write_rows

VALUES = (
    *("9" * 23, "9" * 5000, "-1", "0", "1e400", "nan", "inf", "1e-400", "²", "१२", "", "x", "1_0", "="),
    *("usd=nan", "a=" + "9" * 5000),
)
FLAGS = [
    option.opts[-1]
    for option in app.commands["score"].params
    if isinstance(option, click.Option) and not option.is_flag and not isinstance(option.type, click.Choice)
    and option.opts[-1] not in {"--out", "--ledger", "--rubric", "--rules", "--judge", "--base-url", "--policy",
                                "--protocol", "--verbose"}
]  # fmt: skip


@pytest.mark.slow
def test_a_flag_of_any_size_is_taken_or_refused_in_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for flag, value in product(FLAGS, VALUES):
        try:
            code = app.main(["score", "groups.jsonl", "-o", "out.jsonl", f"{flag}={value}"], standalone_mode=False)
        except (click.ClickException, CalipersError):
            continue
        assert code in {0, 1}, (flag, value)


def test_an_address_in_the_environment_that_cannot_be_read_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"openai": "OPENAI_BASE_URL", "ollama": "OLLAMA_HOST", "azure": "AZURE_OPENAI_ENDPOINT"}
    addresses = ("http://[::1", "http://h:99999999/v1", "http://h:x/v1", "http://user:hidden@[::1")
    for (provider, variable), address in product(variables.items(), addresses):
        monkeypatch.setenv(variable, address)
        with pytest.raises(ConfigError, match=variable) as refused:
            PROVIDERS[provider].named_address(os.environ)
        assert "hidden" not in str(refused.value)


def test_kept_responses_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    lines = (
        "[" * 100_000,
        '{"key": "k", "text": "t", "finish_reason": "stop", "usage": 3}',
        '{"key": ["k"]}',
        "7" * 5000,
        '{"key": "k", "text": "t", "finish_reason": "stop", "latency": 1e999}',
    )
    with ResponseFile(str(write_rows(tmp_path / "out.samples.jsonl", lines))) as kept:
        assert kept.reused == 0
