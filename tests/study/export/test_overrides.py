"""Settings of verl as text that bash and hydra read; ``test_verl_loader`` has hydra itself read them."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.study.export.overrides import InStudy, override, overrides_file

BASH = shutil.which("bash")
VALUES: dict[str, Any] = {
    "plain": "vllm/Qwen/Qwen3-32B",
    "url": ["http://127.0.0.1:20000/v1"],
    "text": "It's [a], {b}: $HOME `c` \\'d\\ \n second line ${e}",
    "looks": ["null", "true", "1", "1e3", ""],
    "small": 1e-06,
    "none": None,
    "flag": False,
    "table": {"a-b": 1, "c": [True], "d": [{"e": "f g"}]},
}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "k=Qwen/Qwen2.5-7B-Instruct"),
        ("1", "k='1'"),
        ("it's", "k='it\\'s'"),
        (True, "k=true"),
        (None, "k=null"),
        (1e-06, "k=1e-06"),
        (["console", "a b"], "k=[console,'a b']"),
        ("${x}", "k='\\${x}'"),
    ],
)
def test_a_value_is_quoted_only_where_hydra_needs_it(value: object, text: str) -> None:
    assert override("k", value) == text


@pytest.mark.parametrize("key", ["", "a b", "a..b", "a=b", "a'b", "+", "$a", "a\nb"])
def test_a_key_that_hydra_cannot_read_is_an_error(key: str) -> None:
    with pytest.raises(ConfigError, match="no name of a setting of verl"):
        override(key, 1)


@pytest.mark.parametrize("value", [object(), {"a b": 1}, [{1: 2}]])
def test_a_value_that_verl_cannot_hold_is_an_error(value: object) -> None:
    with pytest.raises(ConfigError, match="cannot hold"):
        override("k", value)


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_bash_reads_the_settings_as_they_are_meant_and_knows_the_studys_folder() -> None:
    text = overrides_file({**VALUES, "data.path": InStudy("data/x.parquet")})
    shown = subprocess.run(
        [str(BASH), "-c", f'STUDY=/a/b\n{text}\nprintf "%s\\0" "${{overrides[@]}}"'],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert set(shown.stdout.split("\0")[:-1]) == {
        *(override(key, value) for key, value in VALUES.items()),
        "data.path='/a/b/data/x.parquet'",
    }
