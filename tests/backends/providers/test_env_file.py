"""A .env file: read as python-dotenv reads it, errors that name the line and no value."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.backends.providers.env_file import read_env_file, use_env_file
from calipers.errors import ConfigError


def written(folder: Path, text: str) -> Path:
    path = folder / ".env"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("KEY=sk-1", "sk-1"),
        ("export KEY=sk-1", "sk-1"),
        ("  KEY = sk-1  ", "sk-1"),
        ("KEY=sk-1 # the new one", "sk-1"),
        ("KEY=sk#1", "sk#1"),
        ("KEY=# nothing", ""),
        ("KEY=", ""),
        ('KEY="sk 1"', "sk 1"),
        ('KEY="a\\nb\\"c\\\\d" # c', 'a\nb"c\\d'),
        ("KEY='a\\nb ${X} # c'", "a\\nb ${X} # c"),
        ("KEY=a=b", "a=b"),
        ("KEY=a$b", "a$b"),
        ("KEY=1\nKEY=2", "2"),
        ("\ufeffKEY=sk-1\r\n", "sk-1"),
        ("# KEY=no\n\nKEY=yes", "yes"),
    ],
)
def test_a_variable_is_read(tmp_path: Path, line: str, value: str):
    assert read_env_file(written(tmp_path, line)) == {"KEY": value}


def test_it_is_read_as_python_dotenv_reads_it(tmp_path: Path):
    dotenv = pytest.importorskip("dotenv")
    path = written(tmp_path, "A=1\nexport B = two # c\nC='x # y'\nD=\"p\\nq\"\nE=\nF=a#b\n# G=1\n")
    assert read_env_file(path) == dict(dotenv.dotenv_values(path))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("A=1\nsk-secret", ".env:2: is no variable; write NAME=value"),
        ("1A=sk-secret", ".env:1: is no variable"),
        ('A="sk-secret', ".env:1: A has a quote that does not end on this line"),
        ("A='x' sk-secret", ".env:1: A has a quote that does not end on this line, or text behind it"),
        ("A=${sk-secret}", ".env:1: A refers to another variable"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_no_value_is_shown(tmp_path: Path, text: str, told: str):
    with pytest.raises(ConfigError) as caught:
        read_env_file(written(tmp_path, text))
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match="no such file"):
        read_env_file(tmp_path / "none")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_env_file(tmp_path)
    (tmp_path / "latin").write_bytes(b"A=\xe9")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        read_env_file(tmp_path / "latin")
    (tmp_path / "big").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(ConfigError, match="is larger than"):
        read_env_file(tmp_path / "big")


@given(st.text(alphabet="AB=\"'\\#$ {}\n\texpor", max_size=60))
def test_no_text_raises_anything_else(tmp_path_factory: pytest.TempPathFactory, text: str):
    path = tmp_path_factory.mktemp("env") / ".env"
    path.write_text(text, encoding="utf-8")
    try:
        found = read_env_file(path)
    except ConfigError:
        return
    assert all(name.isidentifier() for name in found)


def test_the_environment_comes_first(tmp_path: Path):
    environment = {"KEY": "of-shell"}
    use_env_file(written(tmp_path, "KEY=of-file\nOTHER=1\n"), environment)
    assert environment == {"KEY": "of-shell", "OTHER": "1"}
